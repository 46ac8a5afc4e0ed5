# Pages about a fit, and two clusterings side by side: what Python's results object says of a fit.

#' Write a page about a fit
#'
#' One HTML file that needs nothing else: what was done, what was found, with pictures, for a screen or
#' for paper. Python writes it, so clusters are numbered from 0 there.
#'
#' @param object A fit made by [ewp()].
#' @param x The data that were fitted.
#' @param file File to write; it is replaced if it is there.
#' @param title Heading of the page.
#' @param with Which of `"bootstrap"`, `"stability"`, `"test_features"`, `"test_differences"`, `"consistency"`,
#'   `"refine"` and `"profile"` to compute for the page, with their defaults.
#' @param seed A whole number for these, or `NULL` to draw one from R's generator.
#' @param n_jobs Number of processes for these; -1 for all cores.
#' @return The path of the file, invisibly.
#' @examplesIf ewp_available()
#' fit <- ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1)
#' page <- ewp_report(fit, iris, tempfile(fileext = ".html"))
#' @export
ewp_report <- function(object, x, file, title = NULL, with = character(), seed = NULL,
                       n_jobs = NULL) {
  x <- fitted_rows(object, x)
  if (missing(file) || !is.character(file) || length(file) != 1L || is.na(file) || !nzchar(file)) {
    stop("file is missing: give the name of the page, such as \"fit.html\"", call. = FALSE)
  }
  resampled <- c("bootstrap", "stability", "test_features", "test_differences", "consistency")
  for (name in with) {
    as_choice(name, "with", c(resampled, "refine", "profile"))
    if (name %in% setdiff(resampled, c("bootstrap", "stability"))) stop_unless_common(object, paste0("ewp_", name, "()"))
  }
  file <- normalizePath(file, mustWork = FALSE)
  seed <- as_seed(seed)
  jobs <- as_jobs(n_jobs)
  results <- as_results(object, x)
  for (name in with) {
    ask_results(results, name, if (name %in% resampled) list(random_state = seed, n_jobs = jobs) else list())
  }
  call_python(results$report, file, title = title)
  invisible(file)
}

#' Compare a fit with another clustering of the same rows
#'
#' @param object A fit made by [ewp()].
#' @param other Another fit, the result of [stats::kmeans()] or of the package sparcl, or a vector with
#'   the group of every row. Weights of every cluster are compared by their means, by mass.
#' @param weights Weights of the columns in the other clustering, if `other` does not hold them.
#' @return A list of class `"ewp_agreement"`: adjusted Rand index `ari`, normalised mutual information
#'   `nmi`, share of the rows in matched clusters `same`, `clusters` (one row per cluster: `cluster`,
#'   `size`, `other` (the name of the group that is matched with it, empty where none shares a
#'   row), `other_size`, `shared`, `jaccard`), `weights` (one row per column: `feature`, `this`,
#'   `other`, `difference`; `NULL` if the other clustering has none), `weight_distance` (the weight
#'   that would have to move).
#' @examplesIf ewp_available()
#' fit <- ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1)
#' ewp_agreement(fit, iris$Species)
#' @export
ewp_agreement <- function(object, other, weights = NULL) {
  if (!inherits(object, "ewp")) {
    stop("object is not a fit made by ewp() but of class ", class(object)[1L], call. = FALSE)
  }
  labels <- if (is.atomic(other) || is.factor(other)) other else cluster_of(sparcl_element(other))
  if (length(labels) != length(object$cluster)) {
    stop("other has ", counted(length(labels), "row"), ", but the fit had ", length(object$cluster),
         call. = FALSE)
  }
  if (is.null(weights) && is.list(other)) {
    inner <- sparcl_element(other)
    weights <- if (inherits(inner, "ewp")) mean_weights(inner) else inner$ws
  }
  columns <- length(feature_names(object))
  if (!is.null(weights) && (!is.numeric(weights) || length(weights) != columns)) {
    stop("weights must hold one number for each of the ", columns, " columns", call. = FALSE)
  }
  labels <- as.character(labels)
  found <- call_python(
    as_results(object, NULL)$compare_to, as.list(labels),
    weights = if (!is.null(weights)) to_array(as.array(as.double(weights)))
  )
  clusters <- from_frame(found$clusters)
  structure(
    list(
      ari = from_python(found$ari), nmi = from_python(found$nmi), same = from_python(found$same),
      clusters = cbind(cluster = seq_len(nrow(clusters)), clusters),
      weights = if (!is.null(weights)) {
        cbind(feature = feature_names(object), from_frame(found$weights))
      },
      weight_distance = from_python(found$weight_distance)
    ),
    class = c("ewp_agreement", "list")
  )
}

# sparcl returns a list with one fit for every bound.
sparcl_element <- function(other) {
  if (is.null(other$cluster) && is.null(names(other)) && length(other)) other[[1L]] else other
}

#' @export
print.ewp_agreement <- function(x, digits = 3L, ...) {
  cat(sprintf("Agreement with another clustering: ARI %.3f, NMI %.3f, %.1f %% of the rows in matched clusters\n\n",
              x$ari, x$nmi, 100 * x$same))
  print(rounded(x$clusters, digits), row.names = FALSE)
  if (!is.null(x$weights)) {
    cat("\nWeights, ", format(100 * x$weight_distance, digits = digits), " % would have to move:\n",
        sep = "")
    print(rounded(x$weights, digits), row.names = FALSE)
  }
  invisible(x)
}
