# What can be asked of a fit without Python: printing, summary, weights, fitted values, predictions.

#' @export
print.ewp <- function(x, top = 10L, ...) {
  cat("EWP clustering with ", length(x$size), " clusters of sizes ",
      paste(x$size, collapse = ", "), "\n", sep = "")
  if (lacks_evidence(x)) cat(verdict_line(x))
  if (!is.null(x$na.action)) cat("(", stats::naprint(x$na.action), ")\n", sep = "")
  cat("\nCluster means:\n")
  print(x$centers, ...)
  p <- length(feature_names(x))
  if (by_cluster(x)) {
    shown <- if (p > top) heaviest_anywhere(x$weights, top) else seq_len(p)
    cat("\nFeature weights of every cluster", if (p > top) sprintf(", %d of %d features", top, p), ":\n", sep = "")
    print(round(x$weights[, shown, drop = FALSE], 4L), ...)
  } else if (p > top) {
    cat("\nThe ", top, " heaviest of ", p, " feature weights:\n", sep = "")
    print(utils::head(sort(x$weights, decreasing = TRUE), top), ...)
  } else {
    cat("\nFeature weights:\n")
    print(x$weights, ...)
  }
  cat("\nClustering vector:\n")
  print(x$cluster, ...)
  squared <- is_squared(x)
  cat("\nWithin cluster ", if (squared) "sum of squares" else "divergence", " by cluster (weighted):\n", sep = "")
  print(x$withinss, ...)
  cat(sprintf(if (squared) " (between_SS / total_SS = %5.1f %%)\n" else " (between / total = %5.1f %%)\n",
              100 * explained_share(x)))
  if (!x$converged) cat("\nNot converged after ", x$iter, " steps: raise iter.max.\n", sep = "")
  cat("\nAvailable components:\n\n")
  print(names(x))
  invisible(x)
}

explained_share <- function(x) if (x$totss > 0) x$betweenss / x$totss else NaN

#' Summary of a fit
#'
#' @param object A fit made by [ewp()], or what [ewp_refine()] returned.
#' @param top Number of columns to list, heaviest first; of refined clusters also of mixtures.
#' @param x What `summary()` returned.
#' @param digits Number of significant digits.
#' @param ... Ignored.
#'
#' @return A list of class `"summary.ewp"` with the data frames `clusters` (size, share of the rows,
#'   sum of squares in the weighted metric, and where every cluster has weights of its own their effective number
#'   `features` and the `heaviest`) and `features` (weight, share of the column's variance
#'   that lies between the clusters, share of the rows without a value where values are missing,
#'   centres), the figures above them, `evidence` (see [ewp()]), and
#'   `notes` in words. `weight` is the clusters' mean, by mass, where every cluster has weights of its own.
#'   Of refined clusters one of class `"summary.ewp_refine"` with `clusters` (rows before and
#'   after, proportion, mean uncertainty), `centers`, `covariance`, `moves`, `features`, `candidates` and
#'   `notes`.
#' @examplesIf ewp_available()
#' summary(ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1))
#' @export
summary.ewp <- function(object, top = 10L, ...) {
  top <- as_count(top, "top")
  weights <- mean_weights(object)
  order <- order(-weights)
  shown <- utils::head(order, top)
  centers <- t(object$centers[, shown, drop = FALSE])
  colnames(centers) <- paste("center", colnames(centers))
  features <- data.frame(
    weight = weights[shown],
    explained = feature_shares(object)[shown],
    row.names = make.unique(names(weights))[shown]
  )
  if (!is.null(object$metric$observed)) features$missing <- unname(1 - object$metric$observed[shown])
  features <- cbind(features, centers)
  clusters <- data.frame(
    size = object$size,
    share = object$metric$mass / sum(object$metric$mass),
    withinss = object$withinss,
    row.names = rownames(object$centers)
  )
  if (by_cluster(object)) {
    clusters$features <- unname(apply(object$weights, 1L, effective))
    clusters$heaviest <- unname(heaviest_in_words(object$weights))
  }
  structure(
    list(
      call = object$call, n = length(object$cluster), p = length(weights),
      k = length(object$size), lambda = object$lambda, s0 = object$s0,
      critical_exponent = object$critical_exponent, scaling = object$scaling,
      dispersion = object$dispersion, objective = object$objective, totss = object$totss,
      betweenss = object$betweenss, effective_features = object$effective_features,
      iter = object$iter, phases = phase_counts(object$trace), converged = object$converged,
      evidence = object$evidence, clusters = clusters, features = features, squared = is_squared(object),
      by_cluster = by_cluster(object),
      notes = fit_notes(object, order, top)
    ),
    class = "summary.ewp"
  )
}

# Share of each column's variance that lies between the clusters.
feature_shares <- function(object) {
  metric <- object$metric
  if (!is_squared(object)) {
    total <- metric$families$total
    return(stats::setNames(ifelse(total > 0, pmin(pmax(1 - metric$within / total, 0), 1), 0), names(object$weights)))
  }
  if (!is.null(metric$within)) {
    total <- sum(metric$mass) * metric$observed * metric$sd^2
    return(ifelse(metric$sd > 0, pmin(pmax(1 - metric$within / total, 0), 1), 0))
  }
  deviations <- sweep(object$centers, 2L, metric$center)
  between <- colSums(metric$mass * deviations^2) / sum(metric$mass)
  ifelse(metric$sd > 0, pmin(between / metric$sd^2, 1), 0)
}

# The last row of the trace is where the last step ended; no step starts from it.
phase_counts <- function(trace) {
  phases <- factor(utils::head(trace$phase, -1L), c("anneal", "finish", "polish"))
  c(table(phases))
}

fit_notes <- function(object, order, top) {
  w <- mean_weights(object)[order]
  p <- length(w)
  notes <- character()
  if (!is.null(object$na.action)) notes <- paste0(stats::naprint(object$na.action), ".")
  if (!object$converged) {
    notes <- c(notes, paste("NOT CONVERGED: the estimates are not yet a fixed point;",
                            "raise iter.max or tol."))
  }
  if (lacks_evidence(object)) {
    notes <- c(notes, object$evidence$words)
  } else if (!is.null(object$evidence)) {
    notes <- c(notes, paste(
      "gain over 1 cluster: held-out log-density per row under these clusters, minus that under a single",
      "one, in nats (natural logarithm)."
    ))
  }
  if (isTRUE(object$n.starts > 1L)) {
    agreeing <- object$starts$starts[1L]
    notes <- c(notes, paste0(
      "Best objective found by ", agreeing, " of ", object$n.starts, " starts.",
      if (agreeing < 2L) " Another start may find a lower one; nstart asks for more."
    ))
  }
  if (p > 1L) {
    holding <- sum(cumsum(w) < 0.99) + 1L
    notes <- c(notes, paste0(min(holding, p), " of ", p, " features ",
                             if (holding == 1L) "holds" else "hold", " 99 % of the weight."))
  }
  if (p > top) {
    notes <- c(notes, sprintf("%d features are not listed; together they have %.2g %% of the weight.",
                              p - top, 100 * sum(w[-seq_len(top)])))
  }
  excluded <- feature_names(object)[object$metric$prior == 0]
  if (length(excluded)) {
    notes <- c(notes, paste0("Excluded, constant or given prior 0: ", listing(excluded), "."))
  }
  notes <- c(notes, divergence_notes(object), cluster_weight_notes(object))
  if (object$scaling == "standard" && is_squared(object)) {
    notes <- c(notes, paste("Weights relate to standardised features;",
                            "centers are in the units of the data."))
  }
  if (is_decorrelated(object$scaling)) {
    notes <- c(notes, sprintf(paste(
      "Weights relate to decorrelated features: the weight of a feature is that of the part of it which",
      "the other features do not explain (ZCA-cor, correlations shrunk by %.2g). Centers are in the units of",
      "the data."
    ), object$metric$decorrelation$shrinkage))
  }
  if (!is.null(object$metric$observed)) {
    notes <- c(notes, sprintf(paste(
      "%.1f %% of the values are missing, and nothing is filled in: distances are over the values of a row, terms",
      "of a feature are divided by the share of the rows that have one. That is right where values are missing",
      "completely at random."
    ), 100 * (1 - mean(object$metric$observed))))
  }
  if (!is.null(object$selection)) notes <- c(notes, object$selection$reason)
  c(notes, if (is_squared(object)) {
    "Sums of squares are in the weighted metric. explained: share of the feature's variance between clusters."
  } else {
    paste("withinss: weighted divergences (half deviances) from the centers, summed. explained: share of the",
          "feature's divergence from its mean that lies between clusters.")
  })
}

#' @rdname summary.ewp
#' @export
print.summary.ewp <- function(x, digits = max(3L, getOption("digits") - 3L), ...) {
  cat("Entropy weighted power k-means", if (lacks_evidence(x)) paste0(": ", NO_CLUSTERS), "\n\nCall:\n",
      sep = "")
  print(x$call)
  cat("\n", x$n, " observations, ", x$p, " features, ", x$k, " clusters\n", sep = "")
  number <- function(value) format(value, digits = digits)
  facts <- c(
    "penalty lambda" = sprintf("%s (%s per row)", number(x$lambda), number(x$lambda / x$n)),
    "scaling, form" = paste0(x$scaling, ", ", x$dispersion),
    if (isTRUE(x$by_cluster)) c("weights" = "of every cluster"),
    if (!is.null(x$evidence)) {
      c("gain over 1 cluster" = sprintf("%.2g (se %.2g)", x$evidence$gain, x$evidence$se))
    },
    "objective" = number(x$objective),
    if (isFALSE(x$squared)) c("between / total" = sprintf("%.1f %%", 100 * explained_share(x)))
    else c("between / total SS" = sprintf("%.1f %%", 100 * explained_share(x))),
    "effective features" = number(x$effective_features),
    "exponent" = sprintf("from %s (critical: %s)", number(x$s0), number(x$critical_exponent)),
    "steps" = sprintf("%d (%s)%s", x$iter,
                      paste(x$phases, names(x$phases), collapse = ", "),
                      if (x$converged) ", converged" else ", NOT converged")
  )
  cat(paste0("  ", format(paste0(names(facts), ":")), "  ", facts, "\n"), sep = "")
  cat("\nClusters:\n")
  clusters <- x$clusters
  clusters$share <- sprintf("%.1f %%", 100 * clusters$share)
  print(clusters, digits = digits)
  cat("\nFeatures, heaviest first:\n")
  features <- x$features
  features$weight <- format(round(features$weight, 4L), nsmall = 4L)
  shares <- intersect(c("explained", "missing"), names(features))
  features[shares] <- lapply(features[shares], function(share) sprintf("%.1f %%", 100 * share))
  print(features, digits = digits)
  cat("\n", paste0(strwrap(x$notes, exdent = 2L), "\n"), sep = "")
  invisible(x)
}

#' Weights and fitted values of a fit
#'
#' @param object A fit made by [ewp()].
#' @param method `"centers"` for the centre of every row's cluster, `"classes"` for its number, as in
#'   [stats::fitted()] for [stats::kmeans()].
#' @param ... Ignored.
#' @return `coef()` returns the named weights of the columns, or a matrix with one row of them per cluster where every
#'   cluster has its own, `fitted()` a matrix of centres or a
#'   vector of cluster numbers, `nobs()` the number of rows that were fitted.
#' @examplesIf ewp_available()
#' fit <- ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1)
#' coef(fit)
#' colSums((iris[, 1:4] - fitted(fit))^2)
#' @export
coef.ewp <- function(object, ...) object$weights

#' @rdname coef.ewp
#' @export
fitted.ewp <- function(object, method = c("centers", "classes"), ...) {
  method <- match.arg(method)
  fitted <- if (method == "centers") object$centers[object$cluster, , drop = FALSE] else object$cluster
  stats::napredict(object$na.action, fitted)
}

#' @rdname coef.ewp
#' @export
nobs.ewp <- function(object, ...) length(object$cluster)

#' Assign new rows to the clusters of a fit
#'
#' The nearest centre in the learned metric, or where every cluster has weights of its own in the metrics of the
#' clusters, with their prices (see [ewp()]). This needs no Python: a fit that was saved with
#' [saveRDS()] predicts wherever it is read.
#'
#' @param object A fit made by [ewp()].
#' @param newdata A matrix or data frame with the columns of the fit; they are found by name where
#'   there are names, other columns are ignored. Without it, the clusters of the fitted rows.
#' @param type `"cluster"` for the number of the nearest cluster, `"distance"` for the weighted
#'   distances (not squared; square roots of divergences where the fit has some) to all centres, prices included.
#' @param offset Sizes of the new rows, one positive number for each, where the rows of the fit had sizes
#'   that were given as numbers. Left out otherwise: with `offset = "size"` the totals of the new rows are
#'   their sizes.
#' @param ... Ignored.
#' @return A vector of whole numbers, or a matrix with one column per cluster, with the names of the
#'   rows.
#' @examplesIf ewp_available()
#' odd <- seq(1, 150, by = 2)
#' fit <- ewp(iris[odd, 1:4], 3, lambda = 10, scale = TRUE, seed = 1)
#' table(predict(fit, iris[-odd, ]), iris$Species[-odd])
#' @export
predict.ewp <- function(object, newdata, type = c("cluster", "distance"), offset = NULL, ...) {
  type <- match.arg(type)
  if (missing(newdata) || is.null(newdata)) {
    if (type == "distance") stop("newdata is missing: a fit does not hold its data", call. = FALSE)
    return(stats::napredict(object$na.action, object$cluster))
  }
  x <- rows_for(object, newdata)
  sizes <- row_sizes(object, x, offset)
  squared <- squared_distances(object, per_unit(x, sizes))
  if (type == "distance") {
    if (!is.null(sizes)) squared <- squared * sizes
    return(structure(sqrt(squared), dimnames = list(rownames(x), rownames(object$centers))))
  }
  stats::setNames(max.col(-squared, ties.method = "first"), rownames(x))
}

# Weighted squared distances of rows to all centres, by products of centred matrices, or what the fit has in
# the place of these; of rows per unit of their size.
squared_distances <- function(object, x) {
  if (!is_squared(object)) return(divergences(object, x))
  if (by_cluster(object)) return(own_distances(object, x))
  used <- object$weights > 0
  weights <- object$weights[used]
  if (!is.null(object$metric$observed)) weights <- weights / object$metric$observed[used]
  root <- rep(sqrt(weights), each = nrow(x))
  rows <- columns_of(object, x)[, used, drop = FALSE] * root
  centers <- columns_of(object, object$centers)[, used, drop = FALSE]
  centers <- sweep(centers, 2L, sqrt(weights), "*")
  absent <- is.na(rows)
  lengths <- if (any(absent)) tcrossprod(!absent, centers^2) else rep(rowSums(centers^2), each = nrow(x))
  rows[absent] <- 0
  squared <- matrix(rowSums(rows^2) + lengths, nrow(x)) - 2 * tcrossprod(rows, centers)
  dimnames(squared) <- NULL
  pmax(squared, 0)
}
