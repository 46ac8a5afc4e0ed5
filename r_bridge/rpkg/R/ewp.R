# Fitting: the generic, its methods, and the plain R object made of what Python returns.

#' Entropy weighted power k-means
#'
#' Clusters the rows of `x` into `k` groups and learns, at the same time, a weight for every column.
#' Used like [stats::kmeans()], and what it returns can be used like the result of `kmeans()`.
#'
#' The method minimises
#' \deqn{\sum_i M_s(d_{i1}, \dots, d_{ik}) + \lambda \sum_l w_l \log(w_l / \pi_l), \qquad
#'   d_{ij} = \sum_l w_l (x_{il} - \theta_{jl})^2}{sum_i M_s(d_i1, ..., d_ik) + lambda sum_l w_l
#'   log(w_l / pi_l) with d_ij = sum_l w_l (x_il - theta_jl)^2}
#' over centres \eqn{\theta}{theta} and weights w that sum to 1, where the power mean
#' \eqn{M_s}{M_s} approaches the minimum as s falls from `s0` to minus infinity: k-means with learned
#' weights, reached through smoother problems with fewer local optima. Clusters are numbered by
#' their size, the largest first, so that equal partitions have equal numbers.
#'
#' @section Sums of squares:
#' `totss`, `withinss`, `tot.withinss` and `betweenss` are computed in the learned metric, with
#' every column's squared differences multiplied by its weight (and, if `scaling` is `"standard"`,
#' divided by its variance; if it is `"decorrelate"` they are those of the uncorrelated columns). As the weights sum to 1 they are of the size of *one* column's sum of
#' squares and not comparable with those of `kmeans()`; their ratio `betweenss / totss` is.
#'
#' @section Are there clusters at all?:
#' `ewp()` makes as many clusters as it is asked for, of noise too. Where `lambda` is chosen the rows that were
#' held out say whether there is evidence for more than one: whether they gain more than two standard
#' errors above what parts of a single box-shaped cluster would. If not, `print()` and `summary()` say so
#' in their first lines, and there is a warning of class `ewp_no_clusters`, which
#' `tryCatch(ewp(x, 3), ewp_no_clusters = function(w) ...)` catches.
#'
#' @section Missing values:
#' With `na.action = na.pass` nothing is filled in and no row left out. Distances are over the values that a
#' row has, centres and weights from the values that are there; every column's terms are divided by the
#' share of the rows that have a value of it, so that a column has neither more nor less weight for its holes
#' if values are missing completely at random. New rows of [predict()] may have missing values too, and
#' so may all that comes after the fit but [ewp_test_features()], [ewp_test_differences()] and [ewp_compare()].
#' Correlations tell what a row has not: [ewp_refine()] uses them. `scale = "decorrelate"` needs whole rows.
#'
#' @section Counts, yes or no, positive amounts:
#' Squared differences suit measurements. `divergence` puts half the deviance of another distribution in their
#' place: `"poisson"` for counts, `"bernoulli"` for yes or no (1 or 0) and shares, `"gamma"` for amounts whose
#' deviation grows with their mean. Centres are means as before. A vector with names of columns,
#' `c(visits = "poisson", smoker = "bernoulli")`, gives these columns a divergence of their own; the others keep
#' squared differences. A table with several divergences needs `scale = TRUE`, or `lambda = "auto"`, which tries it.
#'
#' Where rows were counted longer than others, or deeper, `offset = "size"` compares a row of size s with s times
#' the centres. Its size is its total over the mean total. A vector gives sizes of its own, one for each row: sizes
#' themselves, not the logarithms that `offset()` has in formulas of [stats::glm()], which are refused. Centres are
#' then per unit of size. `totss`, `withinss` and the rest are sums of divergences, and `divergence` in the result
#' names that of every column. [predict()], pictures and summaries need no Python.
#' [ewp_refine()], [ewp_test_features()], [ewp_test_differences()], [ewp_consistency()], [ewp_compare()],
#' [as_sparcl()], missing values, `robust` and `scale = "decorrelate"` are for squared differences.
#'
#' @section Weights of every cluster:
#' One set of weights says which columns matter for all clusters together. Where every cluster lives in columns of
#' its own, a column that shows one cluster is noise to the others: `weights = "cluster"` gives every cluster a set
#' of weights of its own. \eqn{d_{ij}}{d_ij} is then
#' \deqn{\delta_{ij} = \sum_l w_{jl} (x_{il} - \theta_{jl})^2 + \frac{\lambda}{n} \sum_l w_{jl} \log
#'   \frac{w_{jl}}{\pi_l}}{delta_ij = sum_l w_jl (x_il - theta_jl)^2 + (lambda/n) sum_l w_jl log(w_jl / pi_l)}
#' with the prior normalised, and the second part is the price, `metric$price`, that every row of a cluster pays for
#' the concentration of its weights. So distances to clusters of different concentration can be compared, `lambda`
#' means what it means with common weights, and the objective is never above that of these. [predict()] and
#' the distances of `augment()` include the price, the sums of squares do not. Pictures of rows and whatever needs one
#' weight per column take the clusters' means, by mass.
#' Such fits need whole rows and squared differences, and `robust` is not possible. [ewp_bootstrap()] gives intervals
#' for the weights of every cluster. [ewp_consistency()], [ewp_test_features()], [ewp_test_differences()] and
#' [as_sparcl()] ask about one set of weights: `ewp_refit(fit, x, weights = "common")` answers these.
#'
#' @section Reproducibility:
#' With `seed = NULL` the seed is drawn from R's random number generator, so that `set.seed()`
#' governs `ewp()` as it does `kmeans()`. The seed that was used is in the result. The same data,
#' options and seed give the same result here and from the Python package, for any `n_jobs`.
#'
#' @param x A numeric matrix, a data frame of numeric columns, or a numeric vector.
#' @param formula A formula without a response, such as `~ a + log(b)` or `~ . - name`.
#' @param data A data frame in which the formula is evaluated.
#' @param centers,k Number of clusters, or a matrix with one starting centre per row: two names of one
#'   argument, the first as in [stats::kmeans()].
#' @param iter.max Largest number of steps. The third argument by position, as in `kmeans()`.
#' @param lambda Entropy penalty, in the units of a sum over rows: it must grow like the number of
#'   rows for fits to different numbers of rows to estimate the same thing. Small values concentrate
#'   the weight on few columns, large ones spread it equally. `"auto"` chooses it by what the
#'   partition is worth to held-out rows, see [ewp_select_lambda()]; that costs some tens of fits.
#' @param s0 First exponent, negative. `"auto"` takes -1, or the critical exponent below which
#'   centres that coincide can separate if that is smaller; `-Inf` starts at the limit problem.
#' @param eta Factor above 1 by which the exponent moves every step.
#' @param nstart Number of random starts; the one with the lowest objective is kept. `"auto"` makes
#'   starts until several of them have found the best objective.
#' @param scale `"standard"` or `TRUE` divides every column by its standard deviation, `"none"` or
#'   `FALSE` leaves it. `"decorrelate"` puts in the place of every column the part of it that the
#'   others do not explain (ZCA-cor sphering, see References), which shows clusters that correlation
#'   hides; correlations are shrunk towards zero by an estimated share, or by the one in
#'   `"decorrelate:0.25"`. `"auto"` is chosen together with `lambda`; with a number for `lambda` it
#'   means `"none"`, with a warning if the variances of the columns differ by more than a factor of
#'   10. Centres are always in the units of the data.
#' @param seed A whole number, or `NULL` to draw one from R's generator.
#' @param subset Which rows to use, as in [stats::lm()]: an expression in the columns of the data, or
#'   numbers or names of rows.
#' @param na.action What to do about rows with missing values: `na.omit` and `na.exclude` leave them
#'   out, and with the latter [predict()] and [fitted()] have `NA` in their places. `na.pass` fits to the
#'   values that are there, see below. By default they are an error that names the columns.
#' @param weights Whose feature weights are: `"common"` (the default) is one set for all clusters, `"cluster"` a set
#'   for every cluster, for clusters that live in columns of their own, see below. With `"auto"` and
#'   `lambda = "auto"` held-out rows choose between the two; with a number for `lambda` it means `"common"`.
#'   Weights of the rows are `sample_weight`.
#' @param ... Further options, for `ewp.formula` also the ones above:
#'   \describe{
#'     \item{`dispersion`}{`"within"` rewards columns with a small dispersion within clusters, as
#'       the paper does, `"between"` a large dispersion between clusters; they agree on standardised
#'       columns. `"auto"` (the default) is chosen with `lambda`, and is `"within"` if that is
#'       given.}
#'     \item{`init`}{`"k-means++"` (the default), `"random"` rows, or a matrix of `k` centres.}
#'     \item{`prior`}{What is known about the columns beforehand, one number for each (matched by
#'       name if named); weights are proportional to it. 0 excludes a column.}
#'     \item{`polish`}{Whether to search for a better partition in the learned metric at the end
#'       (default `TRUE`). `FALSE` with `s0 = -1` is the published algorithm.}
#'     \item{`tol`}{The step at which to stop (1e-8).}
#'     \item{`sample_weight`}{One number for each row; a row of weight 2 counts twice.}
#'     \item{`robust`}{`"trim"` leaves the tenth of the rows that are farthest from all centres without
#'       influence, `"trim:0.2"` a fifth. They are in `cluster` all the same.}
#'     \item{`divergence`}{`"euclidean"` (the default), `"poisson"`, `"bernoulli"` or `"gamma"`, one for
#'       each column, or a vector or list with names of columns: see below.}
#'     \item{`offset`}{Sizes of rows of counts: `"size"` for their totals over the mean total, or a positive
#'       number for each row.}
#'     \item{`n_jobs`}{Number of processes; -1 for all processors.}
#'     \item{`progress`}{Whether to show a progress bar.}
#'     \item{others}{Options that only the Python package knows are handed to it as they are.}
#'   }
#'
#' @return A list of classes `"ewp"` and `"kmeans"`. It holds plain R data only. Its components are
#' those of
#' [stats::kmeans()]:
#' \item{cluster}{Cluster of every row, whole numbers from 1, with the names of the rows.}
#' \item{centers}{Matrix of centres in the units of the data.}
#' \item{totss, withinss, tot.withinss, betweenss}{Sums of squares in the learned metric.}
#' \item{size}{Number of rows in each cluster.}
#' \item{iter}{Number of steps.}
#' \item{ifault}{0, or 2 if the steps ended before a fixed point was reached.}
#' and those of this method:
#' \item{weights}{Weights of the columns, named, summing to 1. With weights of every cluster a matrix with one row
#'   of them per cluster.}
#' \item{lambda, s0, eta}{Penalty, first exponent and factor that were used.}
#' \item{objective}{The objective in the limit.}
#' \item{trace}{A data frame with one row per step: phase, exponent, objective and size of the step.}
#' \item{converged}{Whether a fixed point was reached.}
#' \item{divergence}{Divergence of every column, where these are not all squared differences; `metric$families`
#'   then holds what predictions need, sizes of the rows among it.}
#' \item{scaling, dispersion}{Scaling and form of the weights that were used.}
#' \item{effective_features}{Exponential of the weights' entropy: the number of columns if all
#'   weights are equal, 1 if one column has it all. Of the clusters' mean entropy, by mass, where each has its own.}
#' \item{critical_exponent}{See `s0`.}
#' \item{starts, n.starts}{Where the starts ended, a data frame with one row per distinct optimum (its
#'   objective, how many starts ended there, adjusted Rand index with the best), and their number.}
#' \item{seed, options}{The seed and the other options.}
#' \item{metric}{Means (`center`), divisors (`scale`) and standard deviations (`sd`) of the columns,
#'   their `prior`, and the sum of the rows' weights in each cluster (`mass`). With weights of every cluster also
#'   what these add to the squared distance of a row to the cluster, `price`. Where values are missing
#'   also the share of the rows that have one of each column, `observed`, and the sums of squares of these
#'   values about their centres, `within`. For decorrelated
#'   columns also `decorrelation`: eigenvectors of their correlations (`axes`), square roots of the
#'   shrunk eigenvalues (`roots`) and the `shrinkage`.}
#' \item{python}{How Python gives the fit again: `call`, a line of Python that calls the data X, the
#'   `versions` it was made with, and the SHA-256 of the values as 64-bit floats, row by row.}
#' \item{selection}{How `lambda = "auto"` was settled, if it was.}
#' \item{evidence}{What held-out rows said of more than one cluster while `lambda` was chosen: `clear`,
#'   whether they speak for it; `gain`, the mean log-density per held-out row in nats, minus that under a
#'   single elliptical cluster, and its standard error `se`; `of_box`, what parts of a single box-shaped
#'   cluster gain at most; `words`. `NULL` if `lambda` was given, or `k` is 1.}
#' \item{sample_weight, terms}{Weights of the rows and terms of the formula, where given.}
#' \item{outliers}{Of a trimmed fit (`robust = "trim"`), a data frame with one row per row: its weight
#'   (`mass`), its `distance` to the nearest centre, this by the largest of the rows that were kept
#'   (`outlyingness`), and whether it was `trimmed`; `sample_weight` is 0 then.}
#' \item{na.action, kept, given}{Rows left out for missing values, numbers of the rows that were
#'   used, and how many there were, where not all were used.}
#' \item{call}{The call.}
#'
#' @seealso [predict.ewp()], [plot.ewp()], [summary.ewp()], [ewp_select_lambda()], [ewp_select_k()],
#'   [ewp_profile()], [ewp_refine()], [ewp_bootstrap()], [ewp_compare()]
#' @references
#' Chakraborty, S., Paul, D., Das, S. and Xu, J. (2020). Entropy weighted power k-means clustering.
#' *Proceedings of the 23rd International Conference on Artificial Intelligence and Statistics*,
#' PMLR 108, 691--701.
#'
#' Kessy, A., Lewin, A. and Strimmer, K. (2018). Optimal whitening and decorrelation. *The American
#' Statistician* 72, 309--314.
#' @examplesIf ewp_available()
#' fit <- ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1)
#' fit$weights
#' table(fit$cluster, iris$Species)
#'
#' # the same with a formula
#' again <- ewp(~ . - Species, data = iris, k = 3, lambda = 20, scale = TRUE, seed = 1)
#' identical(again$cluster, fit$cluster)
#'
#' # clusters that live in columns of their own
#' found <- ewp_subspaces(3, n = 150, p = 8, n_relevant = 3, seed = 1)
#' own <- ewp(found$x, 3, lambda = 15, scale = TRUE, weights = "cluster", seed = 1)
#' round(own$weights, 2)
#' @export
ewp <- function(x, ...) {
  UseMethod("ewp")
}

#' @rdname ewp
#' @export
ewp.default <- function(x, centers, iter.max = 500, nstart = "auto", lambda = "auto", s0 = "auto",
                        eta = 1.05, scale = "auto", seed = NULL, subset, na.action = NULL, ...,
                        weights = c("common", "cluster", "auto"), k) {
  call <- call_of("ewp", match.call())
  centers <- number_of_clusters(centers, k)
  chosen <- if (!missing(subset)) subset_of(substitute(subset), x, parent.frame())
  rows <- default_rows(x, chosen, na.action, whole = needs_whole_rows(weights = weights))
  fit_ewp(rows, centers, iter.max, nstart, lambda, s0 = s0, eta = eta, scale = scale, seed = seed,
          weights = weights, ..., call = call)
}

#' @rdname ewp
#' @export
ewp.formula <- function(formula, data = NULL, centers, ..., subset, na.action = NULL, k) {
  call <- call_of("ewp", match.call())
  centers <- number_of_clusters(centers, k)
  chosen <- if (!missing(subset)) subset_of(substitute(subset), data, environment(formula))
  rows <- formula_rows(formula, data, chosen, na.action, whole = needs_whole_rows(...))
  fit_ewp(rows, centers, ..., call = call)
}

fit_ewp <- function(rows, k, iter.max = 500, nstart = "auto", lambda = "auto", seed = NULL,
                    scale = "auto", ..., call) {
  refuse_unnamed(...)
  if (is.matrix(k) || is.data.frame(k)) {
    if ("init" %in% names(list(...))) {
      stop("k is a matrix of starting centers already; leave init out", call. = FALSE)
    }
    return(fit_ewp(rows, nrow(k), iter.max, nstart, lambda, seed, scale, ..., init = k, call = call))
  }
  k <- as_count(k, "k")
  lambda <- as_penalty(lambda)
  raw <- left_raw(scale, lambda)
  options <- python_options(rows, k, seed = seed, scale = if (raw) "none" else scale, iter.max = iter.max,
                            nstart = nstart, ...)
  results <- run_python("fit", rows$x, k, lambda, options = options)
  fit <- as_ewp(results, rows, options$random_state, call)
  if (raw && is_squared(fit)) tell_unequal(fit$metric$sd)
  fit
}

#' Fit the same rows again with another penalty
#'
#' The scaling, the form of the weights and all other options are those of the fit, where [ewp()] with a
#' number for `lambda` takes the columns as they are; so are the feature weights, common ones or those of every
#' cluster, unless `weights` says otherwise. The partition of the fit is tried beside the new
#' starts.
#'
#' @param object A fit made by [ewp()].
#' @param x The data that were fitted.
#' @param lambda The penalty, a number.
#' @param k Number of clusters.
#' @param seed Seed of the starts.
#' @param weights `"common"` weights or those of every `"cluster"`, see [ewp()]; by default as in the fit.
#' @return A fit of class `"ewp"`, as [ewp()] returns it.
#' @examplesIf ewp_available()
#' fit <- ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1)
#' ewp_refit(fit, iris[, 1:4], lambda = 60)$scaling
#' @export
ewp_refit <- function(object, x, lambda = object$lambda, k = length(object$size),
                      seed = object$seed, weights = if (by_cluster(object)) "cluster" else "common") {
  call <- call_of("ewp_refit", match.call())
  x <- fitted_rows(object, x)
  lambda <- as_penalty(lambda)
  k <- as_count(k, "k")
  seed <- as_seed(seed)
  results <- ask_results(
    as_results(object, x), "refit", list(
      lam = lambda, n_clusters = k, random_state = seed, weights = as_choice(weights, "weights", WEIGHTS)
    )
  )
  rows <- c(list(x = x, missing = object$options$missing),
            unclass(object)[c("terms", "na.action", "kept", "given")])
  as_ewp(results, rows, seed, call)
}

# Call one of the module's functions with data and options; Python is touched here first, and before
# any value of Python is asked for.
run_python <- function(name, x, ..., options) {
  f <- python()[[name]]
  check_known(f, options)
  options$random_state <- python_integer(options$random_state)
  do.call(call_python, c(list(f, to_array(x), ...), options))
}

# The object a user gets, from Python's EWPResults and the rows that were fitted.
as_ewp <- function(results, rows, seed, call) {
  columns <- colnames(rows$x)
  k <- from_python(results$n_clusters)
  numbers <- as.character(seq_len(k))
  clusters <- from_frame(results$clusters)
  options <- from_python(results$options)
  own <- identical(options$weights, "cluster")
  weights <- if (own) from_matrix(results$weights, numbers, columns) else from_vector(results$weights, columns)
  trace <- from_frame(results$objective_trace)
  trace$iteration <- as.integer(trace$iteration)
  totss <- from_python(results$totss)
  converged <- from_python(results$converged)
  fit <- list(
    cluster = from_labels(results$labels, rownames(rows$x)),
    centers = from_matrix(results$centroids, numbers, columns),
    totss = totss,
    withinss = clusters$withinss,
    tot.withinss = sum(clusters$withinss),
    betweenss = totss - sum(clusters$withinss),
    size = as.integer(clusters$size),
    iter = as.integer(from_python(results$n_iter)),
    ifault = if (converged) 0L else 2L,
    weights = weights,
    lambda = from_python(results$lam),
    s0 = from_python(results$s0),
    eta = from_python(results$eta),
    objective = from_python(results$objective),
    trace = trace,
    converged = converged,
    scaling = from_python(results$scaling),
    dispersion = from_python(results$dispersion),
    effective_features = effective_features(weights, clusters$mass),
    critical_exponent = from_python(results$critical_exponent),
    seed = seed,
    options = list(
      init = options$init, nstart = options$n_init, polish = options$polish,
      iter.max = options$max_iter, tol = options$tol
    ),
    metric = list(
      center = from_vector(results$center, columns),
      scale = from_vector(results$scale, columns),
      sd = from_vector(results$spread, columns),
      prior = from_vector(results$prior, columns),
      mass = as.double(clusters$mass)
    )
  )
  if (own) fit$metric$price <- as.double(clusters$price)
  if (is_decorrelated(fit$scaling)) {
    made <- results$decorrelation
    roots <- from_vector(made$roots)
    fit$metric$decorrelation <- list(
      axes = matrix(from_python(made$axes), ncol = length(roots), dimnames = list(columns, NULL)),
      roots = roots, shrinkage = from_python(made$shrinkage)
    )
  }
  families <- if (reticulate::py_has_attr(results, "families")) from_families(results$families)
  if (!is.null(families)) {
    names <- unlist(from_python(results$families$divergence$names))
    fit$divergence <- stats::setNames(as.character(names), columns)
    fit$metric$families <- families
    fit$metric$within <- from_vector(results$within, columns)
  }
  fit$options$missing <- rows$missing
  if (!is.null(rows$missing) && !is.null(from_python(results$observed))) {
    fit$metric$observed <- from_vector(results$observed, columns)
    fit$metric$within <- from_vector(results$within, columns)
  }
  if (!is.null(options$selection)) fit$selection <- from_selection(options$selection)
  fit$evidence <- from_evidence(results)
  fit$starts <- from_frame(results$starts)
  fit$n.starts <- as.integer(from_python(results$n_starts))
  fit$python <- list(call = from_python(results$call), versions = from_python(results$versions),
                     data_sha256 = from_python(results$data_sha256))
  given <- from_python(results$sample_weight)
  if (!is.null(given)) fit$sample_weight <- as.double(given)
  if (!is.null(from_python(results$outliers))) {
    fit$outliers <- from_frame(results$outliers)
    if (!is.null(names(fit$cluster))) rownames(fit$outliers) <- names(fit$cluster)
  }
  fit$terms <- rows$terms
  fit$na.action <- rows$na.action
  if (!is.null(rows$kept)) fit[c("kept", "given")] <- rows[c("kept", "given")]
  fit$call <- call
  structure(fit, class = c("ewp", "kmeans"))
}

# The record of a selection, with the decision in words.
from_selection <- function(record) {
  renamed <- function(entry) {
    if (!is.null(entry)) names(entry)[names(entry) == "lam"] <- "lambda"
    entry
  }
  record$chosen <- renamed(record$chosen)
  record$runner_up <- renamed(record$runner_up)
  record$reason <- selection_reason(record)
  record
}

selection_reason <- function(record) {
  named <- function(entry) {
    sprintf("lambda = %.4g on %s", entry$lambda, family_name(entry$scaling, entry$dispersion))
  }
  chosen <- record$chosen
  taken <- paste0(named(chosen), if (identical(chosen$weights, "cluster")) " with weights of every cluster")
  if (!is.finite(chosen$score)) {
    return(paste(taken, "is the middle of the grid: there are too few rows to choose."))
  }
  short <- function(score) sprintf("%.4g", score)
  best <- short(record$best_score)
  standard <- paste0("(", best, ")")
  # Records of before do not have it.
  if (!is.null(record$family_best_score) && short(record$family_best_score) != best) {
    standard <- sprintf("on these features (%s), which is as good as the best (%s)",
                        short(record$family_best_score), best)
  }
  error <- if (is.finite(chosen$se)) sprintf(" (standard error %.2g)", chosen$se) else ""
  text <- sprintf(
    "%s chosen by the %s criterion: %.4g %s%s, %s %s of %s.", taken, record$criterion, chosen$score,
    record$unit, error, record$rule, standard, counted(as.integer(record$candidates), "candidate")
  )
  if (!is.null(record$runner_up)) {
    text <- sprintf("%s Next best: %s, %.4g.", text, named(record$runner_up), record$runner_up$score)
  }
  text <- paste0(text, advantage_in_words(record$advantage), alike_penalties(record$alike),
                 end_of_grid(record$end_of_grid))
  if (!record$complete) text <- paste(text, "The selection was interrupted: finished replicates only.")
  text
}

# What held-out rows say of weights of every cluster, where that was open.
advantage_in_words <- function(found) {
  if (is.null(found)) return("")
  sprintf(paste0(
    " Weights of every cluster %s taken: their partition gains %+.2f (standard error %.2g) nats per row over that of ",
    "common weights, %.2g of its %.2g by variances that differ between the clusters."
  ), if (found$clear) "were" else "were not", found$gain, found$error, found$excess, found$whole)
}

end_of_grid <- function(end) {
  if (is.null(end)) return("")
  meaning <- c(smallest = "one feature, or few, have nearly all of the weight there",
               largest = "all weights are nearly equal there")
  sprintf(" It is the %s penalty that was tried (%s).", end, meaning[[end]])
}

# Which penalties score as well, and whether their partitions agree.
alike_penalties <- function(alike) {
  if (is.null(alike) || alike$count < 2) return("")
  text <- sprintf(
    " Penalties from %.4g to %.4g score as well (within one standard error of the difference)",
    alike$smallest, alike$largest
  )
  if (is.null(alike$agreement)) return(paste0(text, "."))
  index <- sprintf("%.2g", alike$agreement)
  told <- if (index == "1") {
    " and lead to the same partition"
  } else if (alike$agreement >= 0.9) {
    sprintf(", and their partitions agree with this one: adjusted Rand index %s or more", index)
  } else {
    sprintf(", but some of them lead to other partitions: adjusted Rand index %s", index)
  }
  paste0(text, told, ".")
}

family_name <- function(scaling, dispersion) {
  share <- ifelse(grepl(":", scaling, fixed = TRUE), sprintf(" (shrinkage %s)", sub(".*:", "", scaling)), "")
  ifelse(scaling == "standard", "standardised features",
         ifelse(startsWith(scaling, "decorrelate"), paste0("decorrelated features", share),
                paste0("raw features, ", dispersion, " form")))
}

effective <- function(weights) {
  w <- weights[weights > 0]
  exp(-sum(w * log(w)))
}
