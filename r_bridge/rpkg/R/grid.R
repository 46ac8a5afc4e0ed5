# Two quantities of the data that steer a fit: a grid of penalties, and the critical exponent.

#' A grid of penalties
#'
#' From a penalty at which one column takes all the weight to one at which all have nearly the same. Common weights and
#' weights of every cluster have the same grid.
#'
#' @inheritParams ewp_select_lambda
#' @param nlambda Length of the grid.
#' @param scale `TRUE` for the standardised columns, `"decorrelate"` for the uncorrelated ones.
#' @param dispersion Form of the weights, `"within"` or `"between"`.
#' @param sample_weight One number for each row.
#' @param ... `divergence` and `offset`, see [ewp()]. For the method for formulas also the ones above.
#' @return Increasing penalties, in the units of a sum over rows.
#' @examplesIf ewp_available()
#' ewp_lambda_path(iris[, 1:4], 3, nlambda = 5, scale = TRUE)
#' @export
ewp_lambda_path <- function(x, ...) {
  UseMethod("ewp_lambda_path")
}

#' @rdname ewp_lambda_path
#' @export
ewp_lambda_path.default <- function(x, centers, nlambda = 10, scale = FALSE, dispersion = "within",
                                    sample_weight = NULL, subset, na.action = NULL, ..., k) {
  centers <- number_of_clusters(centers, k)
  chosen <- if (!missing(subset)) subset_of(substitute(subset), x, parent.frame())
  lambda_path(default_rows(x, chosen, na.action), centers, nlambda, scale, dispersion, sample_weight,
              ...)
}

#' @rdname ewp_lambda_path
#' @export
ewp_lambda_path.formula <- function(formula, data = NULL, centers, ..., subset, na.action = NULL, k) {
  centers <- number_of_clusters(centers, k)
  chosen <- if (!missing(subset)) subset_of(substitute(subset), data, environment(formula))
  lambda_path(formula_rows(formula, data, chosen, na.action), centers, ...)
}

lambda_path <- function(rows, k, nlambda = 10, scale = FALSE, dispersion = "within",
                        sample_weight = NULL, divergence = "euclidean", offset = NULL, ...) {
  k <- as_count(k, "k")
  options <- c(list(
    n_lams = as_count(nlambda, "nlambda"), scale = as_scaling(scale),
    dispersion = as_choice(dispersion, "dispersion", FORMS[-1L]),
    sample_weight = as_row_weights(sample_weight, rows), ...
  ), divergence_options(rows, divergence, offset))
  if (!is.null(rows$missing)) options$missing <- rows$missing
  f <- python()$lambda_path
  check_known(f, options)
  from_vector(do.call(call_python, c(list(f, to_array(rows$x), k), options)))
}

#' The critical exponent
#'
#' The exponent below which centres that coincide at the mean of the data separate. An annealing that
#' starts above it loses its starting centres.
#'
#' @param x A numeric matrix or a data frame of numeric columns.
#' @param weights Weights of the columns; they are divided by their sum. Equal by default.
#' @param lambda Without `weights`: take the weights that this penalty gives where all centres
#'   coincide.
#' @param sample_weight One number for each row.
#' @param na.action What to do about missing values: see [ewp()].
#' @param divergence What stands in the place of squared differences: see [ewp()]. Counts with sizes are given
#'   per unit of size, with the sizes as `sample_weight`.
#' @return A number, at most 1/2 with squared differences and below 1 otherwise; `-Inf` if all rows are equal.
#' @examplesIf ewp_available()
#' critical_exponent(iris[, 1:4])
#' critical_exponent(iris[, 1:4], weights = c(1, 0, 0, 0))
#' @export
critical_exponent <- function(x, weights = NULL, lambda = NULL, sample_weight = NULL, na.action = NULL,
                              divergence = "euclidean") {
  rows <- default_rows(x, na.action = na.action)
  if (!is.null(lambda)) lambda <- as_number(lambda, "lambda", above = 0)
  if (!is.null(weights) && (!is.numeric(weights) || length(weights) != ncol(rows$x))) {
    stop("weights must hold one number for each of the ", ncol(rows$x), " columns of x", call. = FALSE)
  }
  mass <- as_row_weights(sample_weight, rows)
  f <- python()$critical_exponent
  from_python(do.call(call_python, c(list(
    f, to_array(rows$x), if (!is.null(weights)) to_array(as.array(as.double(weights))), lambda,
    sample_weight = mass, missing = if (is.null(rows$missing)) "error" else rows$missing
  ), divergence_options(rows, divergence))))
}
