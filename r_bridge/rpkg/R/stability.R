# Which clusters, and which rows in them, survive resampling, by resamples that Python fits.

#' Stability of the clusters
#'
#' Clusters resamples of the rows from scratch and measures how similar every cluster is to the most
#' similar one there (Jaccard similarity, as Hennig (2007) defines it and `clusterboot()` of the
#' package fpc reports it). By Hennig's rule of thumb means of 0.75 and more are stable clusters, and
#' those below 0.6 should not be trusted.
#'
#' @inheritParams ewp_bootstrap
#' @param n_boot Number of resamples.
#' @param scheme `"bootstrap"` takes the rows that a draw with replacement hits, each once;
#'   `"subset"` draws a part of the rows.
#' @param share Size of that part.
#' @param ... Options that only the Python package knows.
#' @return A list of class `"ewp_stability"`: the data frames `clusters` (one row per cluster: `cluster`,
#'   `size`, `jaccard` (mean), `jaccard_sd`, `dissolved` and `recovered` (numbers of resamples with a
#'   similarity of at most 0.5, and above 0.75), `stays` (mean share of resamples in which a row
#'   stays), `silhouette`) and `points` (one row per row: `cluster`, `stays`, `together`, `nearest` (the
#'   cluster it goes to most often otherwise, or `NA`), `silhouette`), the matrices `jaccard` (one row a
#'   resample) and `draws` (the clusters of all rows in every resample), and `scheme`, `complete`,
#'   `call`. It can be printed and plotted; [ewp_together()] says how often two rows are together.
#' @references
#' Hennig, C. (2007). Cluster-wise assessment of cluster stability. *Computational Statistics and Data
#' Analysis* 52, 258--271.
#' @examplesIf ewp_available()
#' x <- scale(iris[, 1:4])
#' fit <- ewp(x, 3, lambda = 20, seed = 1)
#' found <- ewp_stability(fit, x, n_boot = 20, seed = 1)
#' found
#' plot(found)
#' ewp_together(found, c(1, 51, 101))
#' @export
ewp_stability <- function(object, x, n_boot = 100, scheme = "bootstrap", share = 0.5, seed = NULL,
                          n_jobs = NULL, progress = FALSE, ...) {
  call <- call_of("ewp_stability", match.call())
  x <- fitted_rows(object, x)
  options <- c(
    list(
      n_boot = as_count(n_boot, "n_boot"),
      scheme = as_choice(scheme, "scheme", c("bootstrap", "subset")),
      share = as_number(share, "share", above = 0, below = 1)
    ),
    resampling_options(seed, n_jobs, progress), list(...)
  )
  found <- diagnose("stability", object, x, options)
  clusters <- from_frame(found$clusters)
  clusters <- cbind(cluster = seq_len(nrow(clusters)), clusters)
  points <- from_frame(found$points)
  points$cluster <- as.integer(points$cluster) + 1L
  following <- as.integer(points$`next`) + 1L
  points$`next` <- NULL
  points$nearest <- ifelse(following > 0L, following, NA_integer_)
  points <- points[c("cluster", "stays", "together", "nearest", "silhouette")]
  row.names(points) <- if (!is.null(rownames(x)) && !anyDuplicated(rownames(x))) rownames(x)
  names <- as.character(clusters$cluster)
  draws <- from_matrix(found$draws, columns = row_labels(x)) + 1
  storage.mode(draws) <- "integer"
  structure(
    list(
      clusters = clusters, points = points,
      jaccard = from_matrix(found$jaccard, columns = names),
      draws = draws, scheme = from_python(found$scheme), complete = from_python(found$complete),
      call = call
    ),
    class = c("ewp_stability", "list")
  )
}

#' How often two rows are in the same cluster
#'
#' @param stability What [ewp_stability()] returned.
#' @param rows Numbers of the rows to compare; all by default, if they are at most 5,000.
#' @return A symmetric matrix: the share of the resamples that have two rows in the same cluster.
#' @seealso [ewp_stability()]
#' @export
ewp_together <- function(stability, rows = seq_len(ncol(stability$draws))) {
  if (!inherits(stability, "ewp_stability")) {
    stop("ewp_together() takes what ewp_stability() returned, not an object of class ",
         class(stability)[1L], call. = FALSE)
  }
  draws <- stability$draws[, rows, drop = FALSE]
  if (ncol(draws) > 5000L) {
    stop(ncol(draws), " rows have too many pairs: choose at most 5000 rows", call. = FALSE)
  }
  share <- Reduce(`+`, lapply(seq_len(nrow(draws)), function(i) outer(draws[i, ], draws[i, ], `==`)))
  share / nrow(draws)
}

#' @export
print.ewp_stability <- function(x, digits = 3L, ...) {
  cat("Stability of the clusters of an EWP fit, ", counted(nrow(x$jaccard), "resample"), " (",
      x$scheme, ")", if (!x$complete) ", interrupted", "\n\n", sep = "")
  print(rounded(x$clusters, digits), row.names = FALSE)
  means <- x$clusters$jaccard
  weak <- x$clusters$cluster[means < 0.6]
  notes <- paste("jaccard: mean similarity to the most similar cluster of a resample; dissolved and",
                 "recovered: resamples where it is at most 0.5, and above 0.75.")
  if (length(weak)) {
    notes <- c(notes, paste0("Not stable, below 0.6: ", listing(weak), "."))
  } else if (all(means >= 0.75)) {
    notes <- c(notes, "All clusters are stable: 0.75 or more.")
  }
  cat("\n", paste0(strwrap(notes, exdent = 2L), "\n"), sep = "")
  invisible(x)
}

#' Plot stability
#'
#' The similarity of every cluster in the resamples: mean, and the middle 80 % as a bar. Lines mark
#' 0.5, up to which a cluster is dissolved, and 0.75, above which it is recovered.
#'
#' @param x What [ewp_stability()] returned.
#' @param ... Graphical parameters, handed to [graphics::plot.default()] in the place of the defaults.
#' @return `x`, invisibly.
#' @export
plot.ewp_stability <- function(x, ...) {
  given <- list(...)
  k <- ncol(x$jaccard)
  at <- seq_len(k)
  ends <- apply(x$jaccard, 2L, stats::quantile, c(0.1, 0.9))
  colour <- given_or(given$col, PALETTE[1L])
  draw_frame(c(0.5, k + 0.5), c(0, 1), given, xlab = "cluster", ylab = "Jaccard similarity",
             xaxt = "n")
  graphics::axis(1, at = at)
  graphics::abline(h = c(0.5, 0.75), lty = 2, col = INK)
  graphics::segments(at, ends[1L, ], at, ends[2L, ], lwd = max(1, min(8, 90 / k)),
                     col = grDevices::adjustcolor(colour, 0.4), lend = 1)
  graphics::points(at, colMeans(x$jaccard), pch = given_or(given$pch, 19), col = colour,
                   cex = given_or(given$cex, 1.2))
  invisible(x)
}
