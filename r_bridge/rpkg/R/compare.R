# EWP beside k-means and sparse k-means, natively in R and from the same centres.

#' Compare with k-means, sparse k-means and other methods
#'
#' Without `methods` and `n_trials`: fits [ewp()], [stats::kmeans()] and, where the package sparcl is
#' installed, its `KMeansSparseCluster()`, all natively in R, from the same starting centres and on
#' the same columns: the two others get them standardised if EWP's were. With either of them: compares
#' methods of the Python package over many starts, with tests.
#'
#' @param x A numeric matrix or a data frame of numeric columns.
#' @param formula,data A formula without a response, and the data frame in which it is evaluated, in
#'   the place of `x`.
#' @param centers,k Number of clusters, or a matrix of starting centres; two names of one argument.
#' @param truth Known groups of the rows, to compare with; they are not used for fitting.
#' @param lambda,scale Options of [ewp()].
#' @param wbound Bound on the l1 norm of the weights of sparse k-means. `"auto"` chooses it by its
#'   permutation gap.
#' @param nperms Number of permutations for sparcl's gap.
#' @param methods Names of methods: `"kmeans"`, `"wkmeans"`, `"power"`, `"power-published"`,
#'   `"harmonic"`, `"sparse"`, `"sparse-annealed"`, `"ewp"`, `"ewp-between"`, `"ewp-published"`,
#'   `"mixture"` (normal mixture), `"agglomerative"` (Ward's).
#'   By default, if `n_trials` is given, `"kmeans"`, `"wkmeans"`, `"power"`, `"sparse"` and `"ewp"`.
#' @param n_trials Number of starts or resamples, 20 by default if `methods` is given.
#' @param seed A whole number, or `NULL` to go on from R's generator. Starting centres are drawn as
#'   in k-means++.
#' @param subset,na.action Which rows to use, and what to do about missing values: see [ewp()].
#' @param ... Further options of [ewp()]; with `methods` or `n_trials` those of the comparison:
#'   `replicates` (`"starts"` on the same rows, or `"bootstrap"`: resamples of the rows), `init`
#'   (`"random"` rows or `"k-means++"`), `beta` (exponent of `"wkmeans"`), `reference` (the
#'   method that the others are tested against), `n_jobs`, `progress`. For the method for formulas
#'   also the ones above.
#' @return A list of class `"ewp_compare"`: `table` (a data frame, one row per method: number
#'   of rows in the `smallest` cluster, `features` with more than 1e-4 of the largest weight,
#'   `effective_features`, adjusted Rand index `ari` and normalised mutual information `nmi` with
#'   `truth`, `seconds`), `weights` (one column a
#'   method, summing to 1), `clusters` (one column per method), `agreement` (adjusted Rand indices
#'   between the methods), `fits` (the methods' own objects), `centers` and `notes`. It can be printed
#'   and plotted.
#'
#'   With `methods` or `n_trials` a list of class `"ewp_trials"`: `table` (one row per method: the mean
#'   of every measure over the starts or resamples, its standard deviation `_sd`, the p-value `_p` of Wilcoxon's
#'   signed-rank test against the reference, `features`, `seconds`), `scores` (one row per start and
#'   method), `weights` (one row per method and start), `clusters` (a matrix for each method with one
#'   row a start), `settings` (what each method chose or was given), `measures`, `reference`,
#'   `scaling`, `k`, `complete`, `seed`, `call`.
#' @examplesIf ewp_available()
#' compared <- ewp_compare(iris[, 1:4], 3, truth = iris$Species, lambda = 20, scale = TRUE,
#'                         wbound = 1.5, seed = 1)
#' compared
#' plot(compared)
#'
#' ewp_compare(iris[, 1:4], 3, truth = iris$Species, methods = c("kmeans", "wkmeans", "ewp"),
#'             n_trials = 6, lambda = 20, scale = TRUE, seed = 1)
#' @export
ewp_compare <- function(x, ...) {
  UseMethod("ewp_compare")
}

#' @rdname ewp_compare
#' @export
ewp_compare.default <- function(x, centers, truth = NULL, lambda = "auto", scale = "auto",
                                wbound = "auto", nperms = 10, methods = NULL, n_trials = NULL,
                                seed = NULL, subset, na.action = NULL, ..., k) {
  call <- call_of("ewp_compare", match.call())
  centers <- number_of_clusters(centers, k)
  chosen <- if (!missing(subset)) subset_of(substitute(subset), x, parent.frame())
  compare_rows(default_rows(x, chosen, na.action), centers, truth, lambda, scale, wbound, nperms,
               methods, n_trials, seed, ..., call = call)
}

#' @rdname ewp_compare
#' @export
ewp_compare.formula <- function(formula, data = NULL, centers, ..., subset, na.action = NULL, k) {
  call <- call_of("ewp_compare", match.call())
  centers <- number_of_clusters(centers, k)
  chosen <- if (!missing(subset)) subset_of(substitute(subset), data, environment(formula))
  compare_rows(formula_rows(formula, data, chosen, na.action), centers, ..., call = call)
}

compare_rows <- function(rows, k, truth = NULL, lambda = "auto", scale = "auto", wbound = "auto",
                         nperms = 10, methods = NULL, n_trials = NULL, seed = NULL, ..., call) {
  if (!is.null(truth) && !is.null(rows$kept) && length(truth) == rows$given) truth <- truth[rows$kept]
  if (!is.null(truth) && (length(truth) != nrow(rows$x) || anyNA(truth))) {
    stop("truth must hold one known group for each of the ", nrow(rows$x), " rows", call. = FALSE)
  }
  if (anyNA(rows$x)) {
    stop("ewp_compare() needs all values of a row, for k-means and sparse k-means do: leave rows out, with ",
         "na.action = na.omit, or impute the values before", call. = FALSE)
  }
  if (any(c("divergence", "offset") %in% names(list(...)))) {
    stop("ewp_compare() is for squared differences, which the other methods have: leave divergence and offset out",
         call. = FALSE)
  }
  if (!identical(wbound, "auto")) wbound <- as_number(wbound, "wbound", above = 1)
  nperms <- as_count(nperms, "nperms", least = 2L)
  if (!is.null(methods) || !is.null(n_trials)) {
    return(run_trials(rows, k, truth, lambda, scale, wbound, methods, n_trials, seed, ...,
                      call = call))
  }
  # R's stream goes on from here when a seed is given, and is put back afterwards.
  if (!is.null(seed)) {
    seed <- as_seed(seed)
    before <- get0(".Random.seed", globalenv(), inherits = FALSE)
    on.exit(
      if (is.null(before)) rm(".Random.seed", envir = globalenv())
      else assign(".Random.seed", before, globalenv())
    )
    set.seed(seed %% .Machine$integer.max)
  } else {
    seed <- as_seed(NULL)
  }
  compare_natively(rows, starting_centers(rows$x, k), truth, lambda, scale, wbound, nperms, seed,
                   ..., call = call)
}

starting_centers <- function(x, k) {
  if (!is.matrix(k) && !is.data.frame(k)) return(draw_centers(x, as_count(k, "k")))
  rows_for(list(weights = stats::setNames(numeric(ncol(x)), colnames(x))), k, "k")
}

compare_natively <- function(rows, centers, truth, lambda, scale, wbound, nperms, seed, ..., call) {
  x <- rows$x
  timed <- list(EWP = timing(
    fit_ewp(rows, centers, lambda = lambda, scale = scale, seed = seed, ..., call = call)
  ))
  fit <- timed$EWP$value
  inside <- function(rows) {
    # centred they need not be, and uncentred centres can be read
    if (is_decorrelated(fit$scaling)) columns_of(fit, rows) else sweep(rows, 2L, fit$metric$scale, "/")
  }
  columns <- inside(x)
  start <- inside(centers)
  notes <- character()
  timed$`k-means` <- attempt(stats::kmeans(columns, start, iter.max = 100L))
  if (requireNamespace("sparcl", quietly = TRUE)) {
    timed$`sparse k-means` <- attempt(fit_sparcl(columns, start, wbound, nperms))
  } else {
    notes <- "sparse k-means is left out: the package sparcl is not installed."
  }
  if (by_cluster(fit)) notes <- c(notes, "EWP has weights of every cluster: those shown are their means, by mass.")
  failed <- vapply(timed, function(run) is.character(run$value), NA)
  for (name in names(timed)[failed]) {
    notes <- c(notes, paste0(name, " failed: ", timed[[name]]$value))
  }
  timed <- timed[!failed]
  clusters <- vapply(timed, function(run) cluster_of(run$value), integer(nrow(x)))
  clusters <- matrix(clusters, nrow(x), dimnames = list(rownames(x), names(timed)))
  weights <- vapply(timed, function(run) weights_of(run$value, ncol(x)), numeric(ncol(x)))
  weights <- matrix(weights, ncol(x), dimnames = list(colnames(x), names(timed)))
  structure(
    list(
      table = comparison_table(timed, clusters, weights, truth),
      weights = weights, clusters = clusters, agreement = agreement_of(clusters),
      fits = lapply(timed, `[[`, "value"), centers = centers, notes = notes, call = call
    ),
    class = c("ewp_compare", "list")
  )
}

# k rows, each drawn with a probability proportional to its squared distance from those before, in
# units of the columns' standard deviations.
draw_centers <- function(x, k) {
  distinct <- nrow(unique(x))
  if (k > distinct) {
    stop("k = ", k, " exceeds the ", distinct, " distinct rows of x", call. = FALSE)
  }
  sd <- apply(x, 2L, stats::sd)
  z <- t(x) / ifelse(is.finite(sd) & sd > 0, sd, 1)
  chosen <- sample.int(nrow(x), 1L)
  nearest <- colSums((z - z[, chosen])^2)
  while (length(chosen) < k) {
    row <- sample.int(nrow(x), 1L, prob = nearest)
    chosen <- c(chosen, row)
    nearest <- pmin(nearest, colSums((z - z[, row])^2))
  }
  centers <- x[chosen, , drop = FALSE]
  rownames(centers) <- NULL
  centers
}

timing <- function(expr) {
  start <- proc.time()[["elapsed"]]
  value <- force(expr)
  list(value = value, seconds = proc.time()[["elapsed"]] - start)
}

# A fit that fails, as one from unlucky centres may, is reported and does not end the comparison.
attempt <- function(expr) {
  tryCatch(timing(expr), error = function(e) list(value = conditionMessage(e), seconds = NA))
}

fit_sparcl <- function(x, centers, wbound, nperms) {
  quietly <- function(expr) {
    utils::capture.output(value <- suppressWarnings(expr))
    value
  }
  if (identical(wbound, "auto")) {
    wbound <- quietly(
      sparcl::KMeansSparseCluster.permute(x, K = nrow(centers), nperms = nperms, silent = TRUE)
    )$bestw
  }
  quietly(sparcl::KMeansSparseCluster(x, wbounds = wbound, centers = centers, silent = TRUE))[[1L]]
}

cluster_of <- function(fit) as.integer(if (is.null(fit$Cs)) fit$cluster else fit$Cs)

weights_of <- function(fit, p) {
  weights <- if (inherits(fit, "ewp")) mean_weights(fit) else if (is.null(fit$ws)) rep(1, p) else fit$ws
  unname(weights / sum(weights))
}

comparison_table <- function(timed, clusters, weights, truth) {
  table <- data.frame(
    method = names(timed),
    smallest = apply(clusters, 2L, function(labels) min(table(labels))),
    # A weight that is negligible beside the largest is none: sparcl leaves 1e-11.
    features = apply(weights, 2L, function(w) sum(w > 1e-4 * max(w))),
    effective_features = apply(weights, 2L, effective),
    row.names = NULL
  )
  if (!is.null(truth)) {
    table$ari <- apply(clusters, 2L, adjusted_rand, truth)
    table$nmi <- apply(clusters, 2L, normalised_information, truth)
  }
  table$seconds <- vapply(timed, `[[`, 0, "seconds")
  row.names(table) <- NULL
  table
}

agreement_of <- function(clusters) {
  names <- colnames(clusters)
  pairs <- Vectorize(function(i, j) adjusted_rand(clusters[, i], clusters[, j]))
  structure(outer(seq_along(names), seq_along(names), pairs), dimnames = list(names, names))
}

#' @export
print.ewp_compare <- function(x, digits = 3L, top = 10L, ...) {
  cat("Comparison from the same starting centers, ", nrow(x$clusters), " observations, ",
      nrow(x$weights), " features, ", nrow(x$centers), " clusters\n\n", sep = "")
  print(rounded(x$table, digits), row.names = FALSE)
  heavy <- utils::head(order(-x$weights[, "EWP"]), top)
  cat("\nWeights, summing to 1", if (length(heavy) < nrow(x$weights)) ", EWP's heaviest", ":\n", sep = "")
  print(round(x$weights[heavy, , drop = FALSE], digits))
  cat("\nAgreement of the partitions (adjusted Rand index):\n")
  print(round(x$agreement, digits))
  if (length(x$notes)) cat("\n", paste0(strwrap(x$notes, exdent = 2L), "\n"), sep = "")
  invisible(x)
}

#' Plot a comparison
#'
#' The weights of the columns, side by side, heaviest first by the method that gives them most.
#'
#' @param x What [ewp_compare()] returned.
#' @param top Number of columns to draw.
#' @param ... Further arguments of [graphics::barplot()], in the place of the defaults: `main`,
#'   `xlim`, `col`, `cex` and so on.
#' @return `x`, invisibly.
#' @export
plot.ewp_compare <- function(x, top = 15L, ...) {
  order <- rev(utils::head(order(-apply(x$weights, 1L, max)), as_count(top, "top")))
  shown <- t(x$weights[order, rev(colnames(x$weights)), drop = FALSE])
  colours <- PALETTE[c(EWP = 1L, `k-means` = 2L, `sparse k-means` = 3L)[rownames(shown)]]
  given <- draw_bars(shown, shorten(colnames(shown)), list(...), col = colours, xlab = "weight",
                     beside = TRUE, space = c(0, 0.6))
  colours <- rep_len(given$col, nrow(shown))
  graphics::legend("bottomright", legend = rev(rownames(shown)), fill = rev(colours), border = NA,
                   bty = "n", inset = 0.02)
  invisible(x)
}
