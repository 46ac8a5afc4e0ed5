#' Entropy weighted power k-means
#'
#' [ewp()] clusters the rows of a table and learns at the same time which columns matter. It is used
#' like [stats::kmeans()] and returns plain R data. The computations are done by the Python package
#' ewp-kmeans: [ewp_install()] sets it up, [ewp_doctor()] says what is there.
#'
#' @section Where Python is found:
#' In this order: the interpreter named by the environment variable `RETICULATE_PYTHON`; one chosen
#' with [reticulate::use_python()] and its relatives; the virtual environment `r-ewp` that
#' [ewp_install()] makes; any other Python that reticulate finds and that has the package. With
#' reticulate 1.41 or newer what the package needs is declared with `py_require()`, and reticulate
#' makes an environment of its own, by downloading, when Python is used first and none of the above is
#' there; the option `ewp.source` or the environment variable `EWP_SOURCE` names another source than the
#' index of Python packages. Loading the package starts no Python and downloads nothing, and nothing is
#' ever asked. Where no Python is found that will do, functions that need it end in a condition of
#' class `ewp_no_python`, whose message has the cure.
#'
#' @section What needs Python:
#' Fitting, selection, resampling, tests, comparisons, pages and simulated data do. Printing, summaries, plots, predictions and
#' broom's verbs work on the plain R data of a fit, for instance after [readRDS()] on a machine that
#' has no Python.
#'
#' @references
#' Chakraborty, S., Paul, D., Das, S. and Xu, J. (2020). Entropy weighted power k-means clustering.
#' *Proceedings of the 23rd International Conference on Artificial Intelligence and Statistics*,
#' PMLR 108, 691--701.
#'
#' Witten, D. M. and Tibshirani, R. (2010). A framework for feature selection in clustering.
#' *Journal of the American Statistical Association* 105, 713--726.
#'
#' @importFrom stats coef confint fitted logLik nobs predict
#' @name ewp-package
#' @aliases ewp-package
#' @docType package
#' @keywords internal
NULL
