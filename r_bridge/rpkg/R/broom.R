# broom's verbs, registered for the generics of the package generics when that is loaded, with
# broom's column names.

#' Tidy results
#'
#' Methods for `tidy()`, `glance()` and `augment()` of the packages generics and broom, with broom's
#' names of columns.
#'
#' @param x A fit made by [ewp()], or what another function of this package returned.
#' @param matrix Of a fit: `"clusters"` for its centres and sizes, `"weights"` for its feature weights.
#' @param data The data that were fitted.
#' @param newdata New rows to assign to the clusters, in the place of `data`.
#' @param offset Sizes of the new rows, where those of the fit had sizes of their own: see [predict.ewp()].
#' @param ... Ignored.
#' @return Data frames, or tibbles where the package tibble is installed.
#'
#'   `tidy()` of a fit: one row per cluster with the centre, `size`, `withinss` and `cluster`; with
#'   `matrix = "weights"` one row per column with `term` and `estimate` (the weight), or per `cluster` and column where
#'   every cluster has weights of its own. Of
#'   [ewp_bootstrap()]: one row per column, with `term`, `estimate` (the weight), `std.error`, `bias`,
#'   `conf.low`, `conf.high`, `selected`, or per `cluster` and column where every cluster has weights of its own.
#'   Of [ewp_test_features()]: `term`, `estimate` (the weight),
#'   `partial.r2`, `p.means`, `p.spreads`, `p.modes`, `p.value`, `adj.p.value` (Benjamini and Hochberg)
#'   and `p.holm`. Of [ewp_test_differences()]: `term` (the column), `contrast` (which clusters), `weight`,
#'   `estimate` (the difference), `statistic`, `p.value`, `p.holm`, `adj.p.value`, `p.naive`. Of
#'   [ewp_consistency()]: one row per error, with `term`, `estimate` (its slope), `std.error`,
#'   `conf.low`, `conf.high`, `verdict`. Of [ewp_stability()]: one row per cluster. Of
#'   [ewp_select_lambda()] and [ewp_select_k()]: one row per candidate, with `estimate` (the criterion)
#'   and `std.error`. Of [ewp_compare()]: one row per method. Of [ewp_agreement()]: one row per cluster. Of
#'   [ewp_refine()]: one row per cluster with the centre, `size`, `proportion`, `uncertainty` (its mean) and
#'   `cluster`. Of [ewp_profile()]: one row per line of its table and cluster, with `term`, `statistic`,
#'   `value`, `cluster`, `mean`, `sd` and `count`.
#'
#'   `glance()`: one row. Of a fit `totss`, `tot.withinss`, `betweenss`, `iter`, `lambda`, `s0`,
#'   `objective`, `effective.features`, `n.obs`, `n.clusters`, `converged`. Of [ewp_refine()] `model`,
#'   `df.t`, `gain` with `std.error`, `moved`, `logLik`, `df`, `BIC`, `ICL`, `n.obs`, `n.clusters`,
#'   `converged`.
#'
#'   `augment()` of a fit: the data with `.cluster` and `.distance`, the weighted distance to the
#'   cluster's centre; of a selection that of the fit it chose; of [ewp_refine()] the data with `.cluster`
#'   and `.uncertainty`, one minus the largest probability; of [ewp_stability()] and [ewp_compare()] the
#'   data with what they say of each row.
#' @examplesIf ewp_available() && requireNamespace("generics", quietly = TRUE)
#' fit <- ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1)
#' generics::tidy(fit)
#' generics::tidy(fit, "weights")
#' generics::glance(fit)
#' head(generics::augment(fit, iris))
#' @name tidy.ewp
NULL

#' @rdname tidy.ewp
#' @exportS3Method generics::tidy
tidy.ewp <- function(x, matrix = c("clusters", "weights"), ...) {
  matrix <- match.arg(matrix)
  if (matrix == "weights") return(as_tibble_if_there(tidy_weights(x)))
  statistics <- data.frame(
    size = x$size, withinss = x$withinss, cluster = factor(seq_along(x$size))
  )
  as_tibble_if_there(beside_centers(x$centers, statistics))
}

# One row per column, or per cluster and column where every cluster has weights of its own.
tidy_weights <- function(x) {
  if (!by_cluster(x)) return(data.frame(term = names(x$weights), estimate = unname(x$weights)))
  k <- nrow(x$weights)
  features <- colnames(x$weights)
  data.frame(
    cluster = factor(rep(seq_len(k), each = length(features))), term = rep(features, k),
    estimate = as.vector(t(x$weights))
  )
}

# Centres with figures of the clusters at the end; a figure whose name is that of a column gets a dot.
beside_centers <- function(centers, statistics) {
  taken <- names(statistics) %in% colnames(centers)
  names(statistics)[taken] <- paste0(".", names(statistics)[taken])
  cbind(as.data.frame(centers, row.names = seq_len(nrow(centers))), statistics)
}

#' @rdname tidy.ewp
#' @exportS3Method generics::glance
glance.ewp <- function(x, ...) {
  as_tibble_if_there(data.frame(
    totss = x$totss, tot.withinss = x$tot.withinss, betweenss = x$betweenss, iter = x$iter,
    lambda = x$lambda, s0 = x$s0, objective = x$objective,
    effective.features = x$effective_features, n.obs = length(x$cluster),
    n.clusters = length(x$size), converged = x$converged
  ))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::augment
augment.ewp <- function(x, data = NULL, newdata = NULL, offset = NULL, ...) {
  if (is.null(data) && is.null(newdata)) {
    stop("data is missing: a fit does not hold its data", call. = FALSE)
  }
  fitted <- is.null(newdata)
  out <- if (fitted) fitted_part(x, data) else newdata
  rows <- rows_for(x, out, if (fitted) "data" else "newdata")
  sizes <- row_sizes(x, rows, offset, own = fitted)
  squared <- squared_distances(x, per_unit(rows, sizes))
  if (!is.null(sizes)) squared <- squared * sizes
  nearest <- max.col(-squared, ties.method = "first")
  append_columns(out, list(
    .cluster = factor(nearest, seq_along(x$size)),
    .distance = sqrt(squared[cbind(seq_along(nearest), nearest)])
  ))
}

# Data with columns at the end, and names of rows in one at the beginning.
append_columns <- function(data, columns) {
  out <- as.data.frame(data)
  taken <- intersect(names(columns), names(out))
  if (length(taken)) {
    stop("data already have a column ", taken[1L], ": rename or drop it", call. = FALSE)
  }
  if (is.character(attr(out, "row.names"))) out <- cbind(.rownames = row.names(out), out)
  out[names(columns)] <- columns
  row.names(out) <- NULL
  as_tibble_if_there(out)
}

as_tibble_if_there <- function(frame) {
  row.names(frame) <- NULL
  if (requireNamespace("tibble", quietly = TRUE)) tibble::as_tibble(frame) else frame
}

# Columns of a table under broom's names: c(new = "old").
as_tidy <- function(table, columns) {
  columns <- columns[columns %in% names(table)]
  as_tibble_if_there(stats::setNames(table[columns], names(columns)))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::tidy
tidy.ewp_bootstrap <- function(x, ...) {
  table <- x$weights
  if (draws_by_cluster(x)) table$cluster <- factor(table$cluster)
  as_tidy(table, c(cluster = "cluster", term = "feature", estimate = "weight", std.error = "se", bias = "bias",
                   conf.low = "lower", conf.high = "upper", selected = "selected"))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::glance
glance.ewp_bootstrap <- function(x, ...) {
  as_tibble_if_there(data.frame(n.boot = x$n_boot, conf.level = x$level, method = x$method,
                                converged = x$converged, complete = x$complete))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::tidy
tidy.ewp_consistency <- function(x, ...) {
  as_tidy(x$slopes, c(term = "error", estimate = "slope", std.error = "se", conf.low = "lower",
                      conf.high = "upper", verdict = "verdict"))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::glance
glance.ewp_consistency <- function(x, ...) {
  as_tibble_if_there(data.frame(verdict = x$verdict, reference = x$reference, n.obs = x$n,
                                conf.level = x$level, complete = x$complete))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::tidy
tidy.ewp_stability <- function(x, ...) {
  table <- x$clusters
  table$cluster <- factor(table$cluster)
  as_tibble_if_there(table)
}

#' @rdname tidy.ewp
#' @exportS3Method generics::glance
glance.ewp_stability <- function(x, ...) {
  as_tibble_if_there(data.frame(n.boot = nrow(x$jaccard), scheme = x$scheme,
                                min.jaccard = min(x$clusters$jaccard), n.obs = nrow(x$points),
                                n.clusters = nrow(x$clusters), complete = x$complete))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::augment
augment.ewp_stability <- function(x, data, ...) {
  check_row_count(data, nrow(x$points))
  columns <- x$points
  columns$cluster <- factor(columns$cluster, x$clusters$cluster)
  append_columns(data, stats::setNames(as.list(columns), paste0(".", names(columns))))
}

check_row_count <- function(data, n) {
  if (NROW(data) != n) {
    stop("data has ", counted(NROW(data), "row"), ", but ", n, " were used", call. = FALSE)
  }
}

#' @rdname tidy.ewp
#' @exportS3Method generics::tidy
tidy.ewp_test_features <- function(x, ...) {
  as_tidy(x$table, c(term = "feature", estimate = "weight", partial.r2 = "partial_r2", p.means = "p_means",
                     p.spreads = "p_spreads", p.modes = "p_modes", p.value = "p_value",
                     adj.p.value = "p_bh", p.holm = "p_holm"))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::glance
glance.ewp_test_features <- function(x, ...) {
  as_tibble_if_there(data.frame(
    n.tested = sum(!is.na(x$table$p_value)),
    n.significant = sum(x$table$p_bh <= 0.05, na.rm = TRUE), complete = x$complete
  ))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::tidy
tidy.ewp_test_differences <- function(x, ...) {
  table <- cbind(contrast = paste(x$table$i, "-", x$table$j), x$table)
  as_tidy(table, c(term = "feature", contrast = "contrast", weight = "weight", estimate = "difference",
                   statistic = "statistic", p.value = "p_value", p.holm = "p_holm", adj.p.value = "p_bh",
                   p.naive = "p_naive"))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::glance
glance.ewp_test_differences <- function(x, ...) {
  as_tibble_if_there(data.frame(
    n.tested = sum(!is.na(x$table$p_value)), n.significant = sum(x$table$p_holm <= 0.05, na.rm = TRUE),
    n.refits = x$n_refits, dimensions = x$dimensions, lower = x$lower, complete = x$complete
  ))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::tidy
tidy.ewp_select_lambda <- function(x, ...) {
  as_tidy(x$table, c(scaling = "scaling", dispersion = "dispersion", lambda = "lambda",
                     estimate = "mean", std.error = "se", effective.features = "effective_features",
                     stability = "stability", n.rep = "replicates"))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::tidy
tidy.ewp_select_k <- function(x, ...) {
  named <- c(n.clusters = "k", lambda = "lambda", estimate = "mean", std.error = "se")
  others <- setdiff(names(x$table), named)
  as_tidy(x$table, c(named, stats::setNames(others, gsub("_", ".", others, fixed = TRUE))))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::glance
glance.ewp_select_lambda <- function(x, ...) glance.ewp(x$fit)

#' @rdname tidy.ewp
#' @exportS3Method generics::glance
glance.ewp_select_k <- function(x, ...) glance.ewp(x$fit)

#' @rdname tidy.ewp
#' @exportS3Method generics::augment
augment.ewp_select_lambda <- function(x, data = NULL, newdata = NULL, ...) {
  augment.ewp(x$fit, data, newdata)
}

#' @rdname tidy.ewp
#' @exportS3Method generics::augment
augment.ewp_select_k <- function(x, data = NULL, newdata = NULL, ...) {
  augment.ewp(x$fit, data, newdata)
}

#' @rdname tidy.ewp
#' @exportS3Method generics::tidy
tidy.ewp_compare <- function(x, ...) {
  table <- x$table
  names(table) <- gsub("_", ".", names(table), fixed = TRUE)
  as_tibble_if_there(table)
}

#' @rdname tidy.ewp
#' @exportS3Method generics::glance
glance.ewp_compare <- function(x, ...) {
  as_tibble_if_there(data.frame(n.methods = nrow(x$table), n.obs = nrow(x$clusters),
                                n.clusters = nrow(x$centers)))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::augment
augment.ewp_compare <- function(x, data, ...) {
  check_row_count(data, nrow(x$clusters))
  columns <- lapply(as.data.frame(x$clusters), factor)
  append_columns(data, stats::setNames(columns, paste0(".cluster.", make.names(colnames(x$clusters)))))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::tidy
tidy.ewp_trials <- function(x, ...) {
  table <- x$table
  names(table) <- sub("_sd$", ".sd", sub("_p$", ".p.value", names(table)))
  as_tibble_if_there(table)
}

#' @rdname tidy.ewp
#' @exportS3Method generics::glance
glance.ewp_trials <- function(x, ...) {
  as_tibble_if_there(data.frame(
    n.methods = nrow(x$table), n.trials = max(x$scores$trial), n.obs = x$n, n.clusters = x$k,
    complete = x$complete
  ))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::tidy
tidy.ewp_agreement <- function(x, ...) {
  table <- x$clusters
  names(table) <- gsub("_", ".", names(table), fixed = TRUE)
  as_tibble_if_there(table)
}

#' @rdname tidy.ewp
#' @exportS3Method generics::glance
glance.ewp_agreement <- function(x, ...) {
  as_tibble_if_there(data.frame(ari = x$ari, nmi = x$nmi, same = x$same,
                                weight.distance = x$weight_distance))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::tidy
tidy.ewp_refine <- function(x, ...) {
  clusters <- refined_clusters(x)
  statistics <- data.frame(
    size = clusters$refined, proportion = clusters$proportion, uncertainty = clusters$uncertainty,
    cluster = factor(clusters$cluster)
  )
  as_tibble_if_there(beside_centers(x$centers, statistics))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::glance
glance.ewp_refine <- function(x, ...) {
  as_tibble_if_there(data.frame(
    model = x$model, df.t = x$df.t, gain = x$gain, std.error = x$gain_se, moved = x$moved,
    logLik = x$loglik, df = x$df, BIC = x$bic, ICL = x$icl, n.obs = length(x$cluster),
    n.clusters = length(x$size), converged = x$converged
  ))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::augment
augment.ewp_refine <- function(x, data = NULL, newdata = NULL, ...) {
  if (is.null(data) && is.null(newdata)) {
    stop("data is missing: refined clusters do not hold their data", call. = FALSE)
  }
  out <- if (is.null(newdata)) fitted_part(x, data) else newdata
  found <- predict.ewp_refine(x, out, "probability")
  append_columns(out, list(
    .cluster = factor(max.col(found, ties.method = "first"), seq_along(x$size)),
    .uncertainty = 1 - apply(found, 1L, max)
  ))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::tidy
tidy.ewp_profile <- function(x, ...) {
  table <- x$table
  parts <- lapply(x$clusters$cluster, function(j) {
    data.frame(
      term = table$feature, statistic = table$statistic, value = table$value,
      cluster = factor(j, x$clusters$cluster), mean = table[[paste0("mean_", j)]],
      sd = table[[paste0("sd_", j)]], count = table[[paste0("count_", j)]]
    )
  })
  as_tibble_if_there(do.call(rbind, parts))
}

#' @rdname tidy.ewp
#' @exportS3Method generics::glance
glance.ewp_profile <- function(x, ...) {
  largest <- x$table$difference
  as_tibble_if_there(data.frame(
    n.obs = sum(x$clusters$size), n.clusters = nrow(x$clusters),
    n.features = length(unique(x$table$feature)),
    max.difference = if (all(is.na(largest))) NA_real_ else max(largest, na.rm = TRUE)
  ))
}
