# Uncertainty of weights and centres, from resamples of the rows that Python fits.

#' Bootstrap of weights and centres
#'
#' Fits resamples of the rows and returns intervals for all weights and centres. By default twenty
#' resamples are fitted from scratch, with starts of their own, and in every resample the most
#' promising of all that was found, the fit's own estimates included, compete: the lowest objective
#' wins. How often a cluster of the fit is another one in the resamples is told beside the intervals.
#' Everything is conditional on the number of clusters, the penalty, the scaling and the form of the
#' weights. A fit with weights of every cluster is fitted again with such weights; clusters of a resample are
#' matched with those of the fit by the rows that they share.
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
#'   in which it counts as selected, and `method`, the kind of its interval; with weights of every cluster one row
#'   per cluster and column, and a first column `cluster`), `centers` (`cluster`,
#'   `feature`, `center`, `lower`, `upper`, `se`, `method`), `clusters` (`cluster`, `jaccard`, the mean
#'   Jaccard similarity to the most similar cluster of a resample, `jaccard_sd`, and the numbers of
#'   resamples in which it is `dissolved`, at most 0.5, and `recovered`, above 0.75) and `switches`
#'   (pairs of columns whose order by weight is not the same in all resamples; with weights of every cluster also in
#'   which `cluster`),
#'   the matrix `draws` of the resamples' weights (resamples x clusters x columns, where every cluster has weights of
#'   its own), and `level`, `method`, `start`, `threshold`,
#'   `n_boot`, `converged` (share of the resamples), `notes` (sentences on the intervals), `complete`,
#'   `call`. It can be printed and plotted.
#' @examplesIf ewp_available()
#' x <- scale(iris[, 1:4])
#' fit <- ewp(x, 3, lambda = 20, seed = 1)
#' resampled <- ewp_bootstrap(fit, x, n_boot = 20, n_jackknife = 10, seed = 1)
#' resampled
#' plot(resampled)
#'
#' # weights of every cluster
#' found <- ewp_subspaces(3, n = 150, p = 8, n_relevant = 3, seed = 1)
#' own <- ewp(found$x, 3, lambda = 15, scale = TRUE, weights = "cluster", seed = 1)
#' each <- ewp_bootstrap(own, found$x, n_boot = 20, n_jackknife = 0, seed = 1)
#' plot(each)
#' confint(each, "x1")
#' @export
ewp_bootstrap <- function(object, x, n_boot = 200, n_jackknife = 50, level = 0.95, method = "auto",
                          threshold = NULL, start = "scratch", seed = NULL, n_jobs = NULL, progress = FALSE) {
  call <- call_of("ewp_bootstrap", match.call())
  x <- fitted_rows(object, x)
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
  own <- by_cluster(object)
  if (own) switches$cluster <- as.integer(switches$cluster) + 1L
  features <- feature_names(object)
  draws <- from_python(found$weight_draws)
  dimnames(draws) <- c(list(NULL), if (own) list(rownames(object$weights)), list(features))
  structure(
    list(
      weights = cbind(if (own) cluster_and_feature(nrow(clusters), features) else data.frame(feature = features),
                      weights),
      centers = centers,
      clusters = cbind(cluster = seq_len(nrow(clusters)), clusters),
      switches = switches,
      draws = draws,
      level = level, method = method, start = from_python(found$start),
      threshold = from_python(found$threshold),
      n_boot = as.integer(from_python(found$n_boot)), converged = from_python(found$converged),
      notes = if (method == "auto") as.character(unlist(from_python(found$interval_notes(level)))),
      complete = from_python(found$complete), call = call
    ),
    class = c("ewp_bootstrap", "list")
  )
}

# Clusters that are listed, and lines of their table of weights that is printed without being asked for more.
MOST_LISTED <- 20L
LINES <- 30L

#' @export
print.ewp_bootstrap <- function(x, top = NULL, digits = 3L, ...) {
  own <- draws_by_cluster(x)
  k <- if (own) min(nrow(x$clusters), MOST_LISTED) else 1L
  if (is.null(top)) top <- min(10L, max(LINES %/% k, 3L))
  cat("Bootstrap of an EWP fit", if (own) " with weights of every cluster", ": ", x$n_boot, " resamples",
      if (!x$complete) ", interrupted", "; ", format(100 * x$level), " % intervals (",
      paste(unique(x$weights$method), collapse = " and "), ")\n\n", sep = "")
  table <- heaviest_rows(x$weights, top)
  if (own) table <- table[table$cluster <= k, ]
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
  more <- ncol_of(x) - top
  if (more > 0L) {
    where <- if (own) " of every cluster" else ""
    notes <- c(notes, paste0(counted(more, "feature"), where, " with less weight ", if (more > 1L) "are" else "is",
                             " not listed."))
  }
  if (own && nrow(x$clusters) > k) {
    notes <- c(notes, paste0("Weights of ", counted(nrow(x$clusters) - k, "more cluster"), " are not listed."))
  }
  if (x$converged < 1) {
    notes <- c(notes, sprintf("%.0f %% of the resamples' fits converged.", 100 * x$converged))
  }
  if (nrow(x$switches)) {
    first <- x$switches[1L, ]
    whose <- if (own) paste(" of cluster", first$cluster) else ""
    notes <- c(notes, sprintf("%s and %s%s change places in %.0f %% of the resamples.", first$heavier,
                              first$lighter, whose, 100 * first$switched))
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

# ---- weights of every cluster ----------------------------------------------------------------

draws_by_cluster <- function(x) length(dim(x$draws)) == 3L

# Number of columns of the data.
ncol_of <- function(x) utils::tail(dim(x$draws), 1L)

# What the rows of a table are about that holds cluster after cluster.
cluster_and_feature <- function(k, features) {
  data.frame(cluster = rep(seq_len(k), each = length(features)), feature = rep(features, k))
}

# Which rows of such a table are about some of p columns, cluster after cluster.
rows_about <- function(columns, p, k) as.vector(outer(columns, p * (seq_len(k) - 1L), `+`))

# Rows of a table of weights, heaviest first; those of every cluster, where there are several.
heaviest_rows <- function(table, top) {
  whose <- if (is.null(table$cluster)) integer(nrow(table)) else table$cluster
  order <- order(whose, -table$weight)
  table[order[stats::ave(whose, whose[order], FUN = seq_along) <= top], ]
}

# The table of weights to draw; of one cluster it is like that of common weights.
drawn_weights <- function(x, cluster) {
  if (is.null(cluster)) return(x$weights)
  if (!draws_by_cluster(x)) {
    stop("cluster = ", shown(cluster), ": all clusters have the same weights; leave it out", call. = FALSE)
  }
  cluster <- as_count(cluster, "cluster")
  if (cluster > nrow(x$clusters)) {
    stop("cluster = ", cluster, " is none of the clusters 1 to ", nrow(x$clusters), call. = FALSE)
  }
  x$weights[x$weights$cluster == cluster, names(x$weights) != "cluster"]
}

#' Plot a bootstrap
#'
#' The weights of the heaviest columns with their intervals. With weights of every cluster a panel for each of up to
#' twelve clusters; the panels have the same columns and the same axis.
#'
#' @param x What [ewp_bootstrap()] returned.
#' @param top Number of columns to draw.
#' @param cluster The one cluster to draw, where every cluster has weights of its own. All by default.
#' @param ... Further arguments of [graphics::barplot()], in the place of the defaults: `main`,
#'   `xlim`, `col` (with a panel for each cluster one colour for each), `cex` and so on.
#' @return `x`, invisibly.
#' @export
plot.ewp_bootstrap <- function(x, top = 20L, cluster = NULL, ...) {
  table <- drawn_weights(x, cluster)
  top <- as_count(top, "top")
  given <- with_defaults(list(...), xlab = sprintf("weight, with %s %% interval", format(100 * x$level)))
  if (is.null(table$cluster)) {
    plot_weights(stats::setNames(table$weight, table$feature), top, table$lower, table$upper, given = given)
  } else {
    plot_weight_panels(table, top, given)
  }
  invisible(x)
}

#' Intervals of the weights
#'
#' @param object A fit made by [ewp()], or what [ewp_bootstrap()] returned.
#' @param parm Names or numbers of columns of the data; all by default.
#' @param level Level of the intervals. Of a bootstrap with BCa intervals only its own level is known.
#' @param x The data that were fitted.
#' @param ... For a fit: options of [ewp_bootstrap()], which is run.
#' @return A matrix with one row per column of the data and the two ends of its weight's interval, as
#'   from [stats::confint()]. With weights of every cluster one row per cluster and column, cluster after cluster, whose
#'   names are those of both, such as `"2:Petal.Width"`: as those of a linear model with several responses.
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
    # the clusters' columns one after the other
    draws <- if (draws_by_cluster(object)) aperm(object$draws, c(1L, 3L, 2L)) else object$draws
    ends <- t(apply(matrix(draws, nrow(draws)), 2L, stats::quantile, share))
  } else {
    stop("BCa intervals are known at level ", format(object$level), " only; run ",
         "ewp_bootstrap(level = ", format(level), ")", call. = FALSE)
  }
  own <- draws_by_cluster(object)
  names <- if (own) paste(table$cluster, table$feature, sep = ":") else table$feature
  dimnames(ends) <- list(names, paste(format(100 * share, trim = TRUE, digits = 3L), "%"))
  if (missing(parm)) return(ends)
  p <- ncol_of(object)
  features <- table$feature[seq_len(p)]
  columns <- stats::setNames(seq_len(p), features)[parm]
  if (anyNA(columns)) {
    stop("parm: no column of the data is ", listing(parm[is.na(columns)]), "; the columns are ", listing(features),
         call. = FALSE)
  }
  ends[rows_about(columns, p, nrow(ends) %/% p), , drop = FALSE]
}
