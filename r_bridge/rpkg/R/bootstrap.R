# Uncertainty of weights and centres, from resamples of the rows that Python fits.

#' Bootstrap of weights and centres
#'
#' Fits resamples of the rows and returns intervals for all weights and centres. By default twenty
#' resamples are fitted from scratch, with starts of their own, and in every resample the most
#' promising of all that was found, the fit's own estimates included, compete: the lowest objective
#' wins. How often a cluster of the fit is another one in the resamples is told beside the intervals.
#' Everything is conditional on the number of clusters, the penalty, the scaling and the form of the
#' weights. Fits with weights of every cluster are not resampled here.
#'
#' @param object A fit made by [ewp()].
#' @param x The data that were fitted.
#' @param n_boot Number of resamples. 95 % intervals need at least 39, and are rough below 160.
#' @param n_jackknife Number of parts of the rows to leave out in turn, which BCa intervals need.
#' @param level Level of the intervals.
#' @param method `"auto"`, `"bca"` or `"percentile"`. The first takes BCa where its assumptions hold
#'   and percentiles otherwise; the printed notes say which and why.
#' @param threshold A column with more weight than this counts as selected; by default the weight
#'   that all would have if they were equal.
#' @param start `"scratch"`, or `"estimates"` to begin from the fit alone: intervals are then about
#'   the solution near it, and too narrow where there are others that are about as good.
#' @param seed A whole number, or `NULL` to draw one from R's generator.
#' @param n_jobs Number of processes; -1 for all cores.
#' @param progress Whether to show a progress bar.
#' @return A list of class `"ewp_bootstrap"`: the data frames `weights` (one row per column of the data:
#'   `feature`, `weight`, `lower`, `upper`, `se`, `bias`, `selected`, the share of the resamples
#'   in which it counts as selected, and `method`, the kind of its interval), `centers` (`cluster`,
#'   `feature`, `center`, `lower`, `upper`, `se`, `method`), `clusters` (`cluster`, `jaccard`, the mean
#'   Jaccard similarity to the most similar cluster of a resample, `jaccard_sd`, and the numbers of
#'   resamples in which it is `dissolved`, at most 0.5, and `recovered`, above 0.75) and `switches`
#'   (pairs of columns whose order by weight is not the same in all resamples),
#'   the matrix `draws` of the resamples' weights, and `level`, `method`, `start`, `threshold`,
#'   `n_boot`, `converged` (share of the resamples), `notes` (sentences on the intervals), `complete`,
#'   `call`. It can be printed and plotted.
#' @examplesIf ewp_available()
#' x <- scale(iris[, 1:4])
#' fit <- ewp(x, 3, lambda = 20, seed = 1)
#' resampled <- ewp_bootstrap(fit, x, n_boot = 20, n_jackknife = 10, seed = 1)
#' resampled
#' plot(resampled)
#' @export
ewp_bootstrap <- function(object, x, n_boot = 200, n_jackknife = 50, level = 0.95, method = "auto",
                          threshold = NULL, start = "scratch", seed = NULL, n_jobs = NULL, progress = FALSE) {
  call <- call_of("ewp_bootstrap", match.call())
  x <- fitted_rows(object, x)
  if (by_cluster(object)) {
    stop("ewp_bootstrap() is for common weights, but this fit has weights of every cluster ",
         "(weights = \"cluster\"): resample it in Python, with fit$python$call followed by .bootstrap(), or fit ",
         "common weights, ewp_refit(fit, x, weights = \"common\")", call. = FALSE)
  }
  level <- as_number(level, "level", above = 0, below = 1)
  method <- as_choice(if (is.null(method)) "auto" else method, "method", c("auto", "bca", "percentile"))
  if (!is.null(threshold)) threshold <- as_number(threshold, "threshold", above = 0, below = 1)
  options <- list(
    n_boot = as_count(n_boot, "n_boot", least = 2L),
    start = as_choice(start, "start", c("scratch", "estimates")),
    n_jackknife = as_count(n_jackknife, "n_jackknife", least = 0L),
    threshold = threshold,
    random_state = as_seed(seed),
    n_jobs = as_jobs(n_jobs),
    progress = as_flag(progress, "progress")
  )
  found <- diagnose("bootstrap", object, x, options)
  weights <- from_frame(call_python(found$weight_intervals, level, method))
  # what a level asks of the number of resamples has been told
  centers <- from_frame(suppressWarnings(call_python(found$centroid_intervals, level, method)))
  names(centers)[names(centers) == "centroid"] <- "center"
  centers$cluster <- as.integer(centers$cluster) + 1L
  clusters <- from_frame(found$clusters)
  switches <- from_frame(found$rank_switches())
  features <- names(object$weights)
  structure(
    list(
      weights = cbind(feature = features, weights),
      centers = centers,
      clusters = cbind(cluster = seq_len(nrow(clusters)), clusters),
      switches = switches,
      draws = from_matrix(found$weight_draws, columns = features),
      level = level, method = method, start = from_python(found$start),
      threshold = from_python(found$threshold),
      n_boot = as.integer(from_python(found$n_boot)), converged = from_python(found$converged),
      notes = if (method == "auto") as.character(unlist(from_python(found$interval_notes(level)))),
      complete = from_python(found$complete), call = call
    ),
    class = c("ewp_bootstrap", "list")
  )
}

#' @export
print.ewp_bootstrap <- function(x, top = 10L, digits = 3L, ...) {
  cat("Bootstrap of an EWP fit: ", x$n_boot, " resamples", if (!x$complete) ", interrupted", "; ",
      format(100 * x$level), " % intervals (", paste(unique(x$weights$method), collapse = " and "),
      ")\n\n", sep = "")
  table <- utils::head(x$weights[order(-x$weights$weight), ], top)
  table$selected <- sprintf("%.0f %%", 100 * table$selected)
  table$method <- NULL
  print(rounded(table, digits), row.names = FALSE)
  cat("\n")
  print(rounded(x$clusters[c("cluster", "jaccard", "dissolved", "recovered")], digits),
        row.names = FALSE)
  notes <- c(
    sprintf("selected: share of the resamples with a weight above %.3g.", x$threshold),
    "jaccard: mean similarity to the most similar cluster of a resample; dissolved and recovered: resamples in which it is at most 0.5, and above 0.75.",
    x$notes, clusters_in_words(x)
  )
  more <- nrow(x$weights) - nrow(table)
  if (more > 0L) notes <- c(notes, sprintf("%d features with less weight are not listed.", more))
  if (x$converged < 1) {
    notes <- c(notes, sprintf("%.0f %% of the resamples' fits converged.", 100 * x$converged))
  }
  if (nrow(x$switches)) {
    first <- x$switches[1L, ]
    notes <- c(notes, sprintf("%s and %s change places in %.0f %% of the resamples.", first$heavier,
                              first$lighter, 100 * first$switched))
  }
  cat("\n", paste0(strwrap(notes, exdent = 2L), "\n"), sep = "")
  invisible(x)
}

# How often the clusters are other ones in the resamples.
clusters_in_words <- function(x) {
  lost <- x$clusters[x$clusters$dissolved > 0, ]
  if (!nrow(lost)) {
    known <- if (x$start == "estimates") ", which were fitted from this fit" else ""
    return(sprintf("Every cluster is found again in all resamples%s.", known))
  }
  lost <- utils::head(lost[order(-lost$dissolved), ], 10L)
  sprintf("In %d of %d resamples cluster %d is another one.", as.integer(lost$dissolved), x$n_boot,
          lost$cluster)
}

#' Plot a bootstrap
#'
#' The weights of the heaviest columns with their intervals.
#'
#' @param x What [ewp_bootstrap()] returned.
#' @param top Number of columns to draw.
#' @param ... Further arguments of [graphics::barplot()], in the place of the defaults: `main`,
#'   `xlim`, `col`, `cex` and so on.
#' @return `x`, invisibly.
#' @export
plot.ewp_bootstrap <- function(x, top = 20L, ...) {
  table <- x$weights
  label <- sprintf("weight, with %s %% interval", format(100 * x$level))
  plot_weights(stats::setNames(table$weight, table$feature), as_count(top, "top"), table$lower,
               table$upper, given = with_defaults(list(...), xlab = label))
  invisible(x)
}

#' Intervals of the weights
#'
#' @param object A fit made by [ewp()], or what [ewp_bootstrap()] returned.
#' @param parm Names or numbers of columns; all by default.
#' @param level Level of the intervals. Of a bootstrap with BCa intervals only its own level is known.
#' @param x The data that were fitted.
#' @param ... For a fit: options of [ewp_bootstrap()], which is run.
#' @return A matrix with one row per column of the data and the two ends of its weight's interval, as
#'   from [stats::confint()].
#' @examplesIf ewp_available()
#' x <- scale(iris[, 1:4])
#' fit <- ewp(x, 3, lambda = 20, seed = 1)
#' confint(fit, x = x, n_boot = 20, n_jackknife = 0, seed = 1)
#' @export
confint.ewp <- function(object, parm, level = 0.95, x, ...) {
  found <- ewp_bootstrap(object, x, level = level, ...)
  if (missing(parm)) stats::confint(found) else stats::confint(found, parm)
}

#' @rdname confint.ewp
#' @export
confint.ewp_bootstrap <- function(object, parm, level = object$level, ...) {
  level <- as_number(level, "level", above = 0, below = 1)
  table <- object$weights
  share <- c((1 - level) / 2, (1 + level) / 2)
  if (isTRUE(all.equal(level, object$level))) {
    ends <- cbind(table$lower, table$upper)
  } else if (all(object$weights$method == "percentile")) {
    ends <- t(apply(object$draws, 2L, stats::quantile, share))
  } else {
    stop("BCa intervals are known at level ", format(object$level), " only; run ",
         "ewp_bootstrap(level = ", format(level), ")", call. = FALSE)
  }
  dimnames(ends) <- list(table$feature, paste(format(100 * share, trim = TRUE, digits = 3L), "%"))
  if (missing(parm)) ends else ends[parm, , drop = FALSE]
}
