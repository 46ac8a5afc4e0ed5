# A model-based finish: the mixture that Python fits from a partition, as plain data, and what can be asked
# of it without Python.

#' Refine the clusters by a mixture
#'
#' Starts EM from the clusters of a fit and describes them as a mixture of normal or t distributions, on the
#' columns whose means differ between the clusters. Where clusters differ in size, spread or direction this
#' is a better description than cells around centres, and every row gets probabilities to belong to the
#' clusters. The kind of mixture is the one that predicts held-out rows best (five folds); where the
#' partition of the fit predicts clearly better than what EM makes of it, it is kept. Nothing is
#' random. The fit itself stays as it is. Where the fit did without missing values (`na.action = na.pass`), rows
#' count with the density of the values that they have.
#'
#' @param object A fit made by [ewp()].
#' @param x The data that were fitted.
#' @param covariance `"spherical"`: one variance per cluster (of the standardised columns); `"diagonal"`: one
#'   per cluster and column; `"tied"`: one matrix for all clusters; `"full"`: a matrix per cluster, shrunk
#'   to the pooled one. `"auto"` chooses, matrices only where there are more rows than columns.
#' @param tails `"normal"`, or `"t"` for t distributions with five degrees of freedom; `"auto"` chooses.
#' @param proportions `"free"` or `"equal"`; `"auto"` takes equal ones where they predict at least as well.
#' @param features Names of the columns that take part, instead of those that matter.
#' @return A list of class `"ewp_refine"`, plain R data:
#' \item{cluster}{The most probable cluster of every row, numbered as the cluster of the fit that it refines.}
#' \item{probabilities}{A matrix: the probability of every row to belong to every cluster.}
#' \item{original}{The clusters of the fit.}
#' \item{size}{Number of rows in each cluster.}
#' \item{proportions}{Proportions of the mixture.}
#' \item{centers}{Matrix of centres in the units of the data; one column for each that takes part.}
#' \item{covariance}{In the units of the data. An array with one matrix per cluster where `model` is
#'   `"full"`, one matrix for all clusters where it is `"tied"`, else a matrix of variances with one row
#'   per cluster.}
#' \item{model, df.t, equal}{What was chosen: the covariances; degrees of freedom of t distributions, `Inf` for
#'   normal ones; whether proportions are equal.}
#' \item{refined}{`FALSE` if the partition of the fit was kept; the mixture is then the one it implies.}
#' \item{gain, gain_se}{Held-out log-density per row under the refined mixture, minus that under the mixture of
#'   the same kind that the fit's partition implies, in nats, and the standard error.}
#' \item{clearly_better}{Whether the gain is more than two standard errors.}
#' \item{moved}{Share of the rows, by weight, that change their cluster.}
#' \item{loglik, bic, icl, df}{Log-likelihood in the units of the data; BIC and ICL, of which smaller ones are
#'   better; number of parameters. [logLik()] gives them to [AIC()] and [BIC()].}
#' \item{converged, iter}{Whether EM converged, and its number of steps.}
#' \item{features}{A data frame, one row per column: `feature`, `ratio` (the F statistic of its means),
#'   `p_value`, and `used`, whether it takes part.}
#' \item{candidates}{A data frame, one row per mixture that was scored, the best first: `start`, the partition
#'   it began from (`"EWP"`, that of the fit, or one of k-means), `covariance`, `tails`, `proportions`, `refined`
#'   (`FALSE` for what the start implies without EM), `difference` of its held-out log-density per row to
#'   that of the chosen one and its standard error `se`, `bic` and `icl`.}
#' \item{coordinates}{Means, standard deviations and widths of cells of the columns that take part, for
#'   predictions.}
#' \item{n, terms, na.action, kept, given, call}{Sum of the rows' weights; and see [ewp()].}
#'
#' @seealso [predict.ewp_refine()], [plot.ewp_refine()], [tidy.ewp()]
#' @references
#' McLachlan, G. and Peel, D. (2000). *Finite Mixture Models*. Wiley.
#' @examplesIf ewp_available()
#' fit <- ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1)
#' refined <- ewp_refine(fit, iris)
#' refined
#' table(refined$cluster, iris$Species)
#' head(round(refined$probabilities, 3))
#' BIC(refined)
#' @export
ewp_refine <- function(object, x, covariance = "auto", tails = "auto", proportions = "auto",
                       features = NULL) {
  call <- call_of("ewp_refine", match.call())
  x <- fitted_rows(object, x)
  if (length(object$size) < 2L) {
    stop("the fit has one cluster, and there is nothing to refine: fit two or more", call. = FALSE)
  }
  options <- list(
    covariance = as_choice(covariance, "covariance", c("auto", "spherical", "diagonal", "tied", "full")),
    tails = as_choice(tails, "tails", c("auto", "normal", "t")),
    proportions = as_choice(proportions, "proportions", c("auto", "free", "equal")),
    features = as_columns(features, "features", feature_names(object))
  )
  found <- diagnose("refine", object, x, options)
  k <- length(object$size)
  clusters <- as.character(seq_len(k))
  features <- cbind(feature = feature_names(object), from_frame(found$feature_table))
  used <- features$feature[features$used]
  scale <- from_vector(found$scale, used)
  tails <- from_python(found$tails)
  cluster <- from_labels(found$labels, rownames(x))
  spread <- variance_of_scatter(tails)
  refined <- list(
    cluster = cluster,
    probabilities = from_matrix(found$probabilities, rownames(x), clusters),
    original = object$cluster,
    size = tabulate(cluster, k),
    proportions = from_vector(found$proportions, clusters),
    centers = from_matrix(found$means, clusters, used),
    covariance = in_data_units(from_python(found$scatter), spread, scale, from_python(found$covariance), k),
    model = from_python(found$covariance), df.t = tails, equal = from_python(found$equal_proportions),
    refined = from_python(found$refined), gain = from_python(found$gain),
    gain_se = from_python(found$gain_se), clearly_better = from_python(found$clearly_better),
    moved = from_python(found$moved_share), loglik = from_python(found$log_likelihood),
    bic = from_python(found$bic), icl = from_python(found$icl),
    df = as.integer(from_python(found$n_parameters)), converged = from_python(found$converged),
    iter = as.integer(from_python(found$n_iter)), features = features,
    candidates = from_frame(found$candidates),
    coordinates = list(center = from_vector(found$center, used), scale = scale,
                       cell = from_vector(found$cell, used)),
    n = if (is.null(object$sample_weight)) nrow(x) else sum(object$sample_weight),
    options = list(missing = object$options$missing)
  )
  refined <- c(refined, unclass(object)[intersect(c("terms", "na.action", "kept", "given"), names(object))])
  refined$call <- call
  structure(refined, class = c("ewp_refine", "list"))
}

# Names of columns of a fit, as Python takes them.
as_columns <- function(names, what, known) {
  if (is.null(names)) return(NULL)
  if (!is.character(names)) stop(what, " = ", shown(names), " must be names of columns", call. = FALSE)
  unknown <- setdiff(names, known)
  if (length(unknown)) stop(what, ": no column is called ", listing(unknown), call. = FALSE)
  as.list(names)
}

# Of t distributions the variance is larger than the scatter, by this factor.
variance_of_scatter <- function(tails) if (is.finite(tails)) tails / (tails - 2) else 1

# Scatter matrices of the standardised columns as covariances of the columns themselves.
in_data_units <- function(scatter, spread, scale, model, k) {
  columns <- names(scale)
  q <- length(columns)
  clusters <- as.character(seq_len(k))
  if (!model %in% c("tied", "full")) {
    units <- rep(spread * scale^2, each = k)
    return(matrix(as.double(scatter) * units, k, q, dimnames = list(clusters, columns)))
  }
  units <- spread * outer(unname(scale), unname(scale))
  parts <- array(as.double(scatter), c(if (model == "tied") 1L else k, q, q))
  if (model == "tied") return(matrix(as.vector(parts) * units, q, q, dimnames = list(columns, columns)))
  array(aperm(parts, c(2L, 3L, 1L)) * as.vector(units), c(q, q, k), list(columns, columns, clusters))
}

#' Assign rows to refined clusters
#'
#' By the probabilities of the mixture. This needs no Python: what was saved with [saveRDS()] predicts
#' wherever it is read.
#'
#' @param object What [ewp_refine()] returned.
#' @param newdata A matrix or data frame with the columns of the fit, all of them; they are found by
#'   name where there are names, other columns are ignored. Without it, the fitted rows.
#' @param type `"cluster"` for the number of the most probable cluster, `"probability"` for the
#'   probabilities to belong to all of them.
#' @param ... Ignored.
#' @return A vector of whole numbers, or a matrix with one column per cluster, with the names of the
#'   rows.
#' @examplesIf ewp_available()
#' fit <- ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1)
#' refined <- ewp_refine(fit, iris)
#' round(predict(refined, iris[c(1, 51, 84, 101), ], type = "probability"), 3)
#' @export
predict.ewp_refine <- function(object, newdata, type = c("cluster", "probability"), ...) {
  type <- match.arg(type)
  if (missing(newdata) || is.null(newdata)) {
    found <- if (type == "cluster") object$cluster else object$probabilities
    return(stats::napredict(object$na.action, found))
  }
  columns <- stats::setNames(object$features$used, object$features$feature)
  known <- list(weights = columns, terms = object$terms, options = object$options)
  x <- rows_for(known, newdata)
  joint <- log_joint(object, x[, columns, drop = FALSE])
  found <- exp(joint - apply(joint, 1L, max))
  found <- found / rowSums(found)
  dimnames(found) <- list(rownames(x), rownames(object$centers))
  if (type == "probability") return(found)
  stats::setNames(max.col(found, ties.method = "first"), rownames(x))
}

# Log of proportion times density of the clusters at rows, but for what all clusters share. A value of a
# coarse column stands for the cell around it: squared distances are expected ones over the cell. Rows with
# missing values have the density of the others, rows with the same ones missing together.
log_joint <- function(object, rows) {
  if (!anyNA(rows)) return(log_joint_of(object, rows, rep(TRUE, ncol(rows))))
  found <- matrix(0, nrow(rows), length(object$proportions))
  pattern <- apply(is.na(rows), 1L, function(absent) paste(which(absent), collapse = " "))
  for (own in split(seq_len(nrow(rows)), pattern)) {
    seen <- !is.na(rows[own[1L], ])
    found[own, ] <- log_joint_of(object, rows[own, seen, drop = FALSE], seen)
  }
  found
}

log_joint_of <- function(object, rows, seen) {
  at <- lapply(object$coordinates, `[`, seen)
  z <- sweep(sweep(rows, 2L, at$center), 2L, at$scale, "/")
  q <- ncol(z)
  tails <- object$df.t
  spread <- variance_of_scatter(tails)
  found <- vapply(seq_along(object$proportions), function(j) {
    if (q == 0L) return(rep(log(object$proportions[[j]]), nrow(z)))
    away <- sweep(z, 2L, (object$centers[j, seen] - at$center) / at$scale)
    if (object$model %in% c("tied", "full")) {
      covariance <- if (object$model == "tied") object$covariance else object$covariance[, , j]
      covariance <- matrix(covariance, length(seen))[seen, seen, drop = FALSE]
      root <- chol(covariance / (spread * outer(at$scale, at$scale)))
      inverse <- backsolve(root, diag(q))
      squared <- rowSums((away %*% inverse)^2) + sum(at$cell * rowSums(inverse^2))
      log_det <- 2 * sum(log(diag(root)))
    } else {
      variance <- object$covariance[j, seen] / (spread * at$scale^2)
      squared <- drop(away^2 %*% (1 / variance)) + sum(at$cell / variance)
      log_det <- sum(log(variance))
    }
    density <- if (is.finite(tails)) -(tails + q) / 2 * log1p(squared / tails) else -squared / 2
    log(object$proportions[[j]]) + density - log_det / 2
  }, numeric(nrow(z)))
  matrix(found, nrow(z))
}

#' @export
logLik.ewp_refine <- function(object, ...) {
  structure(object$loglik, df = object$df, nobs = object$n, class = "logLik")
}

#' @export
nobs.ewp_refine <- function(object, ...) length(object$cluster)

row_uncertainty <- function(x) 1 - apply(x$probabilities, 1L, max)

# Rows more uncertain than this are counted.
UNCERTAIN <- 0.2

refined_clusters <- function(x) {
  k <- length(x$size)
  stay <- tabulate(x$cluster[x$cluster == x$original], k)
  before <- tabulate(x$original, k)
  uncertainty <- tapply(row_uncertainty(x), factor(x$cluster, seq_len(k)), mean)
  data.frame(cluster = seq_len(k), ewp = before, refined = x$size, stay = stay / pmax(before, 1),
             proportion = unname(x$proportions), uncertainty = as.vector(uncertainty))
}

MIXTURES <- c(
  spherical = "one variance per cluster (of the standardised columns)",
  diagonal = "a variance per cluster and column, without correlations",
  tied = "one covariance matrix for all clusters", full = "a covariance matrix per cluster"
)

refine_notes <- function(x) {
  used <- x$features$feature[x$features$used]
  amount <- sprintf("%.2f (standard error %.2f) nats per row", abs(x$gain), x$gain_se)
  worth <- if (!x$refined) {
    paste0("The partition of the fit predicts held-out rows better than any refined one, by ", amount,
           ": it is kept, and the mixture is the one it implies.")
  } else if (x$clearly_better) {
    paste0("The refined clusters predict held-out rows better than those of the fit, by ", amount, ".")
  } else {
    sprintf(paste("The refined clusters do not predict held-out rows clearly better than those of the fit: by %.2f",
                  "(standard error %.2f) nats per row."), x$gain, x$gain_se)
  }
  unsure <- sum(row_uncertainty(x) > UNCERTAIN)
  c(
    paste("ewp, refined: rows of the cluster before and after; stay: share of the first that is in the second;",
          "uncertainty: one minus the largest probability, mean over the rows."),
    sprintf("Clusters are %s, with %s and %s proportions, on %d of %s: %s.",
            if (is.finite(x$df.t)) sprintf("t, %g degrees of freedom", x$df.t) else "normal",
            MIXTURES[[x$model]], if (x$equal) "equal" else "free", length(used),
            counted(nrow(x$features), "column"), listing(used, 6L)),
    worth,
    sprintf("%.1f %% of the rows move to another cluster; the uncertainty is above %g in %d of %s.",
            100 * x$moved, UNCERTAIN, unsure, counted(length(x$cluster), "row")),
    sprintf("Log-likelihood %.6g with %d parameters, BIC %.6g, ICL %.6g; smaller ones are better.",
            x$loglik, x$df, x$bic, x$icl),
    if (!x$converged) "EM stopped before it converged: the estimates are not yet a maximum."
  )
}

print_refined_clusters <- function(clusters, digits) {
  clusters[c("stay", "proportion")] <- lapply(clusters[c("stay", "proportion")], function(share) {
    sprintf("%.1f %%", 100 * share)
  })
  print(rounded(clusters, digits), row.names = FALSE)
}

#' @export
print.ewp_refine <- function(x, digits = 3L, ...) {
  cat("Refined clusters: ", mixture_name(x), "\n\n", sep = "")
  print_refined_clusters(refined_clusters(x), digits)
  cat("\n", paste0(strwrap(refine_notes(x), exdent = 2L), "\n"), sep = "")
  invisible(x)
}

mixture_name <- function(x) {
  paste0(if (is.finite(x$df.t)) "t" else "normal", " mixture, ", x$model, " covariances")
}

#' @rdname summary.ewp
#' @export
summary.ewp_refine <- function(object, ...) {
  structure(
    list(
      call = object$call, name = mixture_name(object), clusters = refined_clusters(object),
      centers = object$centers, covariance = object$covariance, model = object$model,
      moves = table(ewp = factor(object$original, seq_along(object$size)),
                    refined = factor(object$cluster, seq_along(object$size))),
      features = object$features, candidates = object$candidates, notes = refine_notes(object)
    ),
    class = "summary.ewp_refine"
  )
}

#' @rdname summary.ewp
#' @export
print.summary.ewp_refine <- function(x, top = 10L, digits = 3L, ...) {
  top <- as_count(top, "top")
  cat("Refined clusters: ", x$name, "\n\nCall:\n", sep = "")
  print(x$call)
  cat("\n")
  print_refined_clusters(x$clusters, digits)
  cat("\nCenters, in the units of the data:\n")
  print(x$centers[, seq_len(min(top, ncol(x$centers))), drop = FALSE], digits = digits)
  cat("\nRows by cluster of the fit and refined cluster:\n")
  print(x$moves)
  cat("\nMixtures that were scored, the best first (difference: held-out log-density per row to that of the\n",
      "chosen one, with its standard error se):\n", sep = "")
  candidates <- utils::head(x$candidates, top)
  # BIC and ICL have a common size, and differ in their last digits.
  candidates[c("bic", "icl")] <- lapply(candidates[c("bic", "icl")], sprintf, fmt = "%.1f")
  print(rounded(candidates, digits), row.names = FALSE)
  more <- nrow(x$candidates) - top
  notes <- c(if (more > 0L) sprintf("%s more were scored.", counted(more, "mixture")), x$notes)
  cat("\n", paste0(strwrap(notes, exdent = 2L), "\n"), sep = "")
  invisible(x)
}

#' Plot refined clusters
#'
#' How uncertain the rows are: one minus their largest probability, in increasing order; those that changed
#' their cluster have a colour of their own.
#'
#' @param x What [ewp_refine()] returned.
#' @param ... Graphical parameters, handed to [graphics::plot.default()] in the place of the defaults.
#' @return `x`, invisibly.
#' @export
plot.ewp_refine <- function(x, ...) {
  given <- list(...)
  frame <- uncertainty_frame(x)
  colour <- rep_len(given_or(given$col, PALETTE[c(1L, 4L)]), 2L)
  draw_frame(c(0, 100), c(0, max(frame$uncertainty, 0.01)), given, xlab = "rows from sure to unsure, %",
             ylab = "1 - largest probability")
  graphics::points(frame$place, frame$uncertainty, pch = given_or(given$pch, 19),
                   cex = given_or(given$cex, 0.7), col = colour[1L + (frame$rows == "move")])
  graphics::legend("topleft", legend = c("rows that stay", "rows that move"), col = colour, pch = 19, bty = "n",
                   inset = 0.02)
  invisible(x)
}

# The rows in the order of their uncertainty; of many, some.
uncertainty_frame <- function(x) {
  uncertainty <- row_uncertainty(x)
  order <- order(uncertainty)
  if (length(order) > MAX_POINTS) order <- order[round(seq(1, length(order), length.out = MAX_POINTS))]
  data.frame(
    place = seq(0, 100, length.out = length(order)), uncertainty = unname(uncertainty[order]),
    rows = ifelse(x$cluster[order] == x$original[order], "stay", "move")
  )
}
