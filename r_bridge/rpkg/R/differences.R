# Whether clusters differ, by tests that Python computes and that allow for the clusters' being found.

#' Test whether clusters differ
#'
#' A t test between two clusters of the same data rejects nearly always, for clusters are made to differ. Here
#' a p-value is the probability of a difference at least as large if there were none, among the data sets
#' that change in this difference alone and have the same best partition. For every pair of clusters the vectors of
#' means are compared, and the means of every column. Searches from many starts look for better partitions: a test
#' takes the time of some fits.
#'
#' The rows are taken for independent and normal, those of the two clusters with one mean under the null
#' hypothesis; variances and correlations need not be known. Everything is conditional on the number of
#' clusters, the penalty, the scaling and the form of the weights.
#'
#' @inheritParams ewp_bootstrap
#' @param i,j Numbers of the clusters to compare. By default all pairs; with one of them, this one with all
#'   others.
#' @param features Names of the columns to test beside the vectors of means, by default all.
#' @param n_refits Searches in a row along a path that must find nothing lower. With too few, p-values are too
#'   small.
#' @param covariance Variance of all columns, or covariance matrix of the rows of a cluster, where it is known
#'   from elsewhere; an estimate from these clusters is too small. By default none is needed.
#' @return A list of class `"ewp_test_differences"`, which can be printed and plotted:
#' \item{table}{A data frame, one row per pair of clusters `i`, `j` and `feature`, the vectors of means first, as
#'   `"(all features)"`: `weight` in the fit; `difference` of the means in the units of the data, for the
#'   vectors their Mahalanobis distance; `statistic`, Student's t, for the vectors the root of q times
#'   Hotelling's F in q dimensions; `p_value`, which allows for the clusters' being found; this adjusted by
#'   Holm, `p_holm`, and by Benjamini and Hochberg, `p_bh`, for the vectors among the pairs, for the columns among
#'   all pairs and columns; `p_naive`, which would be the p-value if the clusters had been known
#'   beforehand, which they were not; `refits`, the number of searches along the path, and `settled`, whether
#'   the last of them found nothing lower. `NA` where nothing can be tested.}
#' \item{n_refits}{As above.}
#' \item{dimensions}{Dimensions in which the vectors of means were compared, at most.}
#' \item{lower}{Partitions with a lower objective than the fit's that were found on its own data, at least.}
#' \item{complete}{`FALSE` if the tests were interrupted.}
#' \item{call}{The call.}
#' @references
#' Gao, L. L., Bien, J. and Witten, D. (2024). Selective inference for hierarchical clustering. *Journal of the
#' American Statistical Association* 119, 332--342.
#'
#' Hivert, B., Agniel, D., Thiebaut, R. and Hejblum, B. P. (2024). Post-clustering difference testing.
#' *Computational Statistics and Data Analysis* 193, 107916.
#'
#' Yun, Y. and Barber, R. F. (2023). Selective inference for clustering with unknown variance. *Electronic
#' Journal of Statistics* 17, 1923--1946.
#' @examplesIf ewp_available()
#' fit <- ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1)
#' found <- ewp_test_differences(fit, iris, 1, 2, features = "Petal.Width", n_refits = 5, seed = 1)
#' found
#' plot(found)
#' @export
ewp_test_differences <- function(object, x, i = NULL, j = NULL, features = NULL, n_refits = 20,
                                 covariance = NULL, seed = NULL, n_jobs = NULL, progress = FALSE) {
  call <- call_of("ewp_test_differences", match.call())
  x <- fitted_rows(object, x)
  stop_unless_common(object, "ewp_test_differences()")
  k <- length(object$size)
  if (k < 2L) stop("the fit has one cluster, and nothing to compare it with: fit two or more", call. = FALSE)
  i <- as_cluster(i, "i", k)
  j <- as_cluster(j, "j", k)
  if (!is.null(i) && identical(i, j)) {
    stop("i and j are both ", i + 1L, ": name two clusters, or none for all pairs", call. = FALSE)
  }
  options <- c(
    list(
      i = i, j = j, features = as_columns(features, "features", names(object$weights)),
      n_refits = as_count(n_refits, "n_refits"), covariance = as_covariance(covariance, ncol(x))
    ),
    resampling_options(seed, n_jobs, progress)
  )
  found <- diagnose("test_differences", object, x, options)
  table <- from_frame(found$table)
  table$i <- as.integer(table$i) + 1L
  table$j <- as.integer(table$j) + 1L
  table$refits <- as.integer(table$refits)
  structure(
    list(
      table = table, n_refits = options$n_refits,
      dimensions = as.integer(from_python(found$dimensions)), lower = as.integer(from_python(found$lower)),
      complete = from_python(found$complete), call = call
    ),
    class = c("ewp_test_differences", "list")
  )
}

# What stands for a column where the vectors of means are compared.
ALL_FEATURES <- "(all features)"

# A cluster as Python counts it.
as_cluster <- function(value, name, k) {
  if (is.null(value)) return(NULL)
  value <- as_count(value, name)
  if (value > k) stop(name, " = ", value, " is no cluster; the fit has clusters 1 to ", k, call. = FALSE)
  value - 1L
}

as_covariance <- function(covariance, p) {
  if (is.null(covariance)) return(NULL)
  if (is.null(dim(covariance))) return(as_number(covariance, "covariance", above = 0))
  covariance <- as.matrix(covariance)
  if (!is.numeric(covariance) || !identical(dim(covariance), c(p, p))) {
    stop("covariance has ", nrow(covariance), " rows and ", ncol(covariance), " columns; give a matrix of ", p,
         " and ", p, ", or one variance that all columns share", call. = FALSE)
  }
  to_array(unname(covariance))
}

#' @export
print.ewp_test_differences <- function(x, top = 10L, digits = 3L, ...) {
  top <- as_count(top, "top")
  cat("Differences between clusters that were found in the same data",
      if (!x$complete) " (interrupted)", "\n", sep = "")
  table <- x$table[order(x$table$p_value, -x$table$weight), ]
  whole <- table$feature == ALL_FEATURES
  more <- character()
  for (part in list(pairs = table[whole, ], differences = table[!whole, ])) {
    if (!nrow(part)) next
    shown <- utils::head(part, top)
    lines <- data.frame(
      clusters = paste(shown$i, "-", shown$j), feature = shown$feature,
      shown[c("difference", "p_value", "p_holm", "p_bh", "p_naive")]
    )
    cat("\n")
    print(rounded(lines, digits), row.names = FALSE)
    hidden <- nrow(part) - nrow(shown)
    if (hidden > 0L) more <- c(more, sprintf("%s more are not listed.", counted(hidden, "line")))
  }
  cat("\n", paste0(strwrap(c(more, difference_notes(x)), exdent = 2L), "\n"), sep = "")
  invisible(x)
}

difference_notes <- function(x) {
  whole <- x$table$feature == ALL_FEATURES
  hit <- !is.na(x$table$p_holm) & x$table$p_holm <= 0.05
  unsettled <- sum(!x$table$settled)
  c(
    sprintf("%d of %s of clusters and %d of %s in columns have a p-value of at most 0.05 after Holm.",
            sum(hit & whole), counted(sum(whole), "pair"), sum(hit & !whole),
            counted(sum(!whole), "difference")),
    "Null hypothesis: the rows of both clusters have one mean, in the column or in all.",
    paste("p_value: the probability of a difference as large if there were none, among data on which no other",
          "partition has a lower objective; p_naive: if the clusters had been known beforehand, which they were",
          "not."),
    sprintf("%s: difference in standard deviations, in %s.", ALL_FEATURES, counted(x$dimensions, "dimension")),
    sprintf("Searches in a row that had to find no lower partition along every path: %d.", x$n_refits),
    "Conditional on the number of clusters, the penalty, the scaling and the form of the weights.",
    if (unsettled) {
      sprintf(paste("NOT SETTLED: in %s searches still found lower partitions; the p-values are rough. n_refits",
                    "asks for more."), counted(unsettled, "test"))
    },
    if (x$lower) {
      sprintf(paste("MISSED: %s with a lower objective than this fit's on the same data: fit again with a larger",
                    "nstart; the p-values are rough, and mostly too large."), counted(x$lower, "partition"))
    },
    if (!x$complete) "INTERRUPTED: differences without a p-value were not tested."
  )
}

#' Plot tests of the differences between clusters
#'
#' The p-values of the columns, the vectors of means on top, on a logarithmic scale, one colour per pair of
#' clusters; filled points are significant at 5 % after Holm. P-values below 1e-10 are drawn there.
#'
#' @param x What [ewp_test_differences()] returned.
#' @param top Number of columns to draw, heaviest first.
#' @param ... Graphical parameters, handed to [graphics::plot.default()] in the place of the defaults.
#' @return `x`, invisibly.
#' @export
plot.ewp_test_differences <- function(x, top = 20L, ...) {
  table <- drawn_differences(x, top)
  labels <- levels(table$feature)
  given <- list(...)
  pairs <- levels(table$clusters)
  colours <- rep_len(given_or(given$col, PALETTE), length(pairs))
  place <- as.integer(table$clusters)
  at <- as.integer(table$feature) + 0.5 * ((place - 0.5) / length(pairs) - 0.5)
  local_par(mai = bar_margins(shorten(labels), c(4.1, if (is.null(given$main)) 2.6 else 4.1, 1.6)))
  draw_frame(c(0, max(table$size, 2, na.rm = TRUE)), c(0.5, length(labels) + 0.5), given, yaxt = "n",
             ylab = "", xlab = "minus the decimal logarithm of the p-value")
  graphics::axis(2, at = seq_along(labels), labels = shorten(labels), las = 1, tick = FALSE)
  graphics::abline(v = -log10(0.05), lty = 3, col = INK)
  graphics::points(table$size, at, pch = 21, col = colours[place],
                   bg = ifelse(table$significant, colours[place], "white"), cex = given_or(given$cex, 1.2))
  if (length(pairs) <= length(PALETTE)) {
    # above the points
    graphics::legend("bottom", legend = pairs, col = colours, pch = 19, bty = "n", horiz = TRUE,
                     inset = c(0, 1), xpd = NA)
  }
  invisible(x)
}

# Lines to draw: features as a factor, from the bottom to the top.
drawn_differences <- function(x, top) {
  table <- x$table
  each <- table[!duplicated(table$feature), ]
  whole <- each$feature == ALL_FEATURES
  order <- order(!whole, -each$weight)
  kept <- utils::head(each$feature[order], as_count(top, "top") + sum(whole))
  table <- table[table$feature %in% kept, ]
  clusters <- paste(table$i, "-", table$j)
  data.frame(
    feature = factor(table$feature, rev(kept)), clusters = factor(clusters, unique(clusters)),
    size = -log10(pmax(table$p_value, 1e-10)), significant = !is.na(table$p_holm) & table$p_holm <= 0.05
  )
}
