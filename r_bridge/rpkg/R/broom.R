# broom's verbs, registered for the generics of the package generics when that is loaded. Columns
# have the names that the Python package uses.

#' Tidy a fit
#'
#' Methods for `tidy()`, `glance()` and `augment()` of the packages generics and broom.
#'
#' @param x A fit made by [ewp()].
#' @param data The data to append the clusters to: those that were fitted, or new rows.
#' @param ... Ignored.
#' @return Data frames, or tibbles where the package tibble is installed. `tidy()`: one row a
#'   cluster with the centre, `size`, `withinss` and `cluster`. `glance()`: one row with `totss`,
#'   `tot.withinss`, `betweenss`, `iter`, `lam`, `s0`, `objective`, `effective_features`, `n_obs`,
#'   `n_clusters`, `converged`. `augment()`: the data with `.cluster` and `.distance`, the weighted
#'   distance to the cluster's centre.
#' @examplesIf ewp_available() && requireNamespace("generics", quietly = TRUE)
#' fit <- ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1)
#' generics::tidy(fit)
#' generics::glance(fit)
#' head(generics::augment(fit, iris))
#' @name tidy.ewp
NULL

#' @rdname tidy.ewp
#' @exportS3Method generics::tidy
tidy.ewp <- function(x, ...) {
  statistics <- data.frame(
    size = x$size, withinss = x$withinss, cluster = factor(seq_along(x$size))
  )
  taken <- names(statistics) %in% colnames(x$centers)
  names(statistics)[taken] <- paste0(".", names(statistics)[taken])
  centers <- as.data.frame(x$centers, row.names = seq_along(x$size))
  as_tibble_if_there(cbind(centers, statistics))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::glance
glance.ewp <- function(x, ...) {
  as_tibble_if_there(data.frame(
    totss = x$totss, tot.withinss = x$tot.withinss, betweenss = x$betweenss, iter = x$iter,
    lam = x$lambda, s0 = x$s0, objective = x$objective,
    effective_features = x$effective_features, n_obs = length(x$cluster),
    n_clusters = length(x$size), converged = x$converged
  ))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::augment
augment.ewp <- function(x, data, ...) {
  if (missing(data)) stop("data is missing: a fit does not hold its data", call. = FALSE)
  rows <- rows_for(x, data, "data")
  out <- as.data.frame(data)
  taken <- intersect(c(".cluster", ".distance"), names(out))
  if (length(taken)) {
    stop("data already have a column ", taken[1L], ": rename or drop it", call. = FALSE)
  }
  squared <- squared_distances(x, rows)
  nearest <- max.col(-squared, ties.method = "first")
  if (.row_names_info(out) > 0L) out <- cbind(.rownames = row.names(out), out)
  out$.cluster <- factor(nearest, seq_along(x$size))
  out$.distance <- sqrt(squared[cbind(seq_along(nearest), nearest)])
  row.names(out) <- NULL
  as_tibble_if_there(out)
}

as_tibble_if_there <- function(frame) {
  if (requireNamespace("tibble", quietly = TRUE)) tibble::as_tibble(frame) else frame
}
