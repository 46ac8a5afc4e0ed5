# Uncertainty of weights and centres, from resamples of the rows that Python fits.

#' Bootstrap of weights and centres
#'
#' Fits resamples of the rows, from the fit's own estimates, and returns intervals for all weights and
#' centres. Everything is conditional on the number of clusters, the penalty, the scaling and the
#' form of the weights.
#'
#' @param object A fit made by [ewp()].
#' @param x The data that were fitted.
#' @param n_boot Number of resamples.
#' @param n_jackknife Number of parts of the rows to leave out in turn, which BCa intervals need.
#' @param level Level of the intervals.
#' @param method `"bca"` or `"percentile"`; `NULL` takes BCa where there is a jackknife.
#' @param threshold A column with more weight than this counts as selected; by default the weight
#'   that all would have if they were equal.
#' @param seed A whole number, or `NULL` to draw one from R's generator.
#' @param n_jobs Number of processes; -1 for all cores.
#' @param progress Whether to show a progress bar.
#' @return A list of class `"ewp_bootstrap"`: the data frames `weights` (one row a column of the data:
#'   `feature`, `weight`, `lower`, `upper`, `se`, `bias` and `selected`, the share of the resamples
#'   in which it counts as selected), `centers` (`cluster`, `feature`, `center`, `lower`, `upper`,
#'   `se`) and `switches` (pairs of columns whose order by weight is not the same in all resamples),
#'   the matrix `draws` of the resamples' weights, and `level`, `method`, `threshold`, `n_boot`,
#'   `converged` (share of the resamples), `complete`, `call`. It can be printed and plotted.
#' @examplesIf ewp_available()
#' x <- scale(iris[, 1:4])
#' fit <- ewp(x, 3, lambda = 20, seed = 1)
#' resampled <- ewp_bootstrap(fit, x, n_boot = 20, n_jackknife = 10, seed = 1)
#' resampled
#' plot(resampled)
#' @export
ewp_bootstrap <- function(object, x, n_boot = 200, n_jackknife = 50, level = 0.95, method = NULL,
                          threshold = NULL, seed = NULL, n_jobs = NULL, progress = FALSE) {
  call <- match.call()
  x <- fitted_rows(object, x)
  level <- as_number(level, "level", above = 0, below = 1)
  if (!is.null(method)) as_choice(method, "method", c("bca", "percentile"))
  if (!is.null(threshold)) threshold <- as_number(threshold, "threshold", above = 0, below = 1)
  options <- list(
    n_boot = as_count(n_boot, "n_boot", least = 2L),
    n_jackknife = as_count(n_jackknife, "n_jackknife", least = 0L),
    threshold = threshold,
    random_state = as_seed(seed),
    n_jobs = as_jobs(n_jobs),
    progress = as_flag(progress, "progress")
  )
  found <- diagnose("bootstrap", object, x, options)
  method <- if (is.null(method)) from_python(found$method) else method
  weights <- from_frame(call_python(found$weight_intervals, level, method))
  centers <- from_frame(call_python(found$centroid_intervals, level, method))
  names(centers)[names(centers) == "centroid"] <- "center"
  centers$cluster <- as.integer(centers$cluster) + 1L
  switches <- from_frame(found$rank_switches())
  features <- names(object$weights)
  structure(
    list(
      weights = cbind(feature = features, weights),
      centers = centers,
      switches = switches,
      draws = from_matrix(found$weight_draws, columns = features),
      level = level, method = method, threshold = from_python(found$threshold),
      n_boot = as.integer(from_python(found$n_boot)), converged = from_python(found$converged),
      complete = from_python(found$complete), call = call
    ),
    class = c("ewp_bootstrap", "list")
  )
}

#' @export
print.ewp_bootstrap <- function(x, top = 10L, digits = 3L, ...) {
  cat("Bootstrap of an EWP fit: ", x$n_boot, " resamples", if (!x$complete) ", interrupted", "; ",
      format(100 * x$level), " % intervals (", c(bca = "BCa", percentile = "percentile")[x$method],
      ")\n\n", sep = "")
  table <- utils::head(x$weights[order(-x$weights$weight), ], top)
  table$selected <- sprintf("%.0f %%", 100 * table$selected)
  print(rounded(table, digits), row.names = FALSE)
  notes <- sprintf("selected: share of the resamples with a weight above %.3g.", x$threshold)
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

#' Plot a bootstrap
#'
#' The weights of the heaviest columns with their intervals.
#'
#' @param x What [ewp_bootstrap()] returned.
#' @param top Number of columns to draw.
#' @param main Title.
#' @param ... Further arguments of [graphics::barplot()].
#' @return `x`, invisibly.
#' @export
plot.ewp_bootstrap <- function(x, top = 20L, main = NULL, ...) {
  table <- x$weights
  plot_weights(
    stats::setNames(table$weight, table$feature), as_count(top, "top"), table$lower, table$upper,
    main = main, xlab = sprintf("weight, with %s %% interval", format(100 * x$level)), ...
  )
  invisible(x)
}
