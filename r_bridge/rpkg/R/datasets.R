# Data of the paper: its designs, drawn afresh with Python's generator, and its real data sets.

#' Simulated data of the paper
#'
#' `ewp_simulation1()`: a 10 x 10 grid of clusters in the first two columns, and `d` columns of noise.
#' `ewp_simulation2()`: `k` clusters in the first `n_relevant` of `p` columns; `ewp_feature_selection()`
#' is the same at the size of the paper's study of feature selection. `ewp_subspaces()`, which is not the paper's,
#' draws clusters that live in columns of their own, for `ewp(weights = "cluster")`. The same seed gives the data
#' of the Python package.
#'
#' @param d Number of irrelevant columns.
#' @param k Number of clusters.
#' @param n Number of rows; `NULL` takes 100 for each cluster.
#' @param p,n_relevant Number of columns, and how many of them, the first ones, are relevant; in
#'   `ewp_subspaces()` how many every cluster has of its own, drawn at random.
#' @param sd Standard deviation of the relevant columns within a cluster.
#' @param shift How far the means of a cluster lie from zero in its columns.
#' @param seed A whole number, or `NULL` to draw one from R's generator.
#' @return A list: the matrix `x`, `cluster` (true clusters from 1), `relevant` (numbers of the
#'   relevant columns) and `centers` (true means).
#' @examplesIf ewp_available()
#' found <- ewp_simulation2(4, n = 100, p = 10, seed = 1)
#' table(found$cluster)
#' @export
ewp_simulation1 <- function(d, n = 1000, sd = 0.015, seed = NULL) {
  simulated("make_simulation1", as_count(d, "d", least = 0L), list(n = as_count(n, "n"), sd = sd), seed)
}

#' @rdname ewp_simulation1
#' @export
ewp_simulation2 <- function(k, n = NULL, p = 100, n_relevant = 5, sd = 0.015, seed = NULL) {
  options <- list(
    n = if (!is.null(n)) as_count(n, "n"), p = as_count(p, "p"),
    n_relevant = as_count(n_relevant, "n_relevant"), sd = sd
  )
  simulated("make_simulation2", as_count(k, "k"), options, seed)
}

#' @rdname ewp_simulation1
#' @export
ewp_feature_selection <- function(n = 1000, p = 20, n_relevant = 5, k = 10, sd = 0.015, seed = NULL) {
  ewp_simulation2(k, n, p, n_relevant, sd, seed)
}

#' @rdname ewp_simulation1
#' @export
ewp_subspaces <- function(k = 5, n = NULL, p = 30, n_relevant = 5, sd = 0.3, shift = 1.5, seed = NULL) {
  options <- list(
    n = if (!is.null(n)) as_count(n, "n"), p = as_count(p, "p"),
    n_relevant = as_count(n_relevant, "n_relevant"), sd = sd, shift = as_number(shift, "shift")
  )
  simulated("make_subspaces", as_count(k, "k"), options, seed)
}

simulated <- function(name, first, options, seed) {
  options$sd <- as_number(options$sd, "sd", above = -1e-300)
  seed <- as_seed(seed)
  f <- python()$datasets[[name]]
  found <- do.call(call_python, c(list(f, first), options, random_state = python_integer(seed)))
  relevant <- from_labels(found$relevant)
  p <- as.integer(from_python(found$X$shape[[1L]]))
  columns <- default_names(p)
  list(
    x = from_matrix(found$X, columns = columns), cluster = from_labels(found$labels),
    relevant = relevant, centers = from_matrix(found$centers, columns = columns)
  )
}

#' Real data sets of the paper
#'
#' `"iris"`, `"wine"` and `"wdbc"` are there; the others are read from a folder of files.
#'
#' @param name One of the names that `ewp_dataset()` without a name returns.
#' @param folder Folder with files such as `wine.csv.gz`, each with a header and the column `class` at
#'   the end. By default the one named by the environment variable `EWP_DATA`.
#' @return A list: the data frame `x`, `class` (whole numbers from 1), `name`, `k` (number of classes)
#'   and `source`; without a name, the names.
#' @examplesIf ewp_available()
#' wine <- ewp_dataset("wine")
#' table(wine$class)
#' @export
ewp_dataset <- function(name, folder = NULL) {
  sets <- python()$datasets
  if (missing(name)) return(unlist(from_python(reticulate::import_builtins(FALSE)$list(sets$DATASETS))))
  found <- call_python(sets$load_dataset, name, folder)
  list(
    x = from_frame(found$X), class = from_labels(found$y), name = from_python(found$name),
    k = as.integer(from_python(found$k)), source = from_python(found$source)
  )
}
