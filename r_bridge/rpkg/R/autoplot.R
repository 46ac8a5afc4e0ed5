# The pictures for ggplot2, registered when that is loaded. Each is a plain ggplot, to be changed with +.

#' Pictures with ggplot2
#'
#' Methods for `autoplot()` of the package ggplot2.
#'
#' @param object What a function of this package returned.
#' @param which,data,features,top As in [plot.ewp()].
#' @param cluster As in [plot.ewp_bootstrap()].
#' @param ... Ignored.
#' @return A ggplot object.
#' @examplesIf ewp_available() && requireNamespace("ggplot2", quietly = TRUE)
#' fit <- ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1)
#' ggplot2::autoplot(fit)
#' ggplot2::autoplot(fit, "clusters", data = iris)
#' @name autoplot.ewp
NULL

# Columns are named by strings, so that no name has to be declared.
aes_of <- function(...) {
  do.call(ggplot2::aes, lapply(list(...), as.name))
}

bars_of <- function(frame, look = list(fill = PALETTE[1L])) {
  frame$feature <- factor(frame$feature, rev(unique(frame$feature)))
  ggplot2::ggplot(frame, aes_of(x = "weight", y = "feature")) + do.call(ggplot2::geom_col, look) +
    ggplot2::labs(y = NULL)
}

heaviest <- function(weights, top) {
  order <- utils::head(order(-weights), as_count(top, "top"))
  data.frame(feature = names(weights)[order], weight = unname(weights)[order])
}

#' @rdname autoplot.ewp
#' @exportS3Method ggplot2::autoplot
autoplot.ewp <- function(object, which = c("weights", "trace", "clusters"), data = NULL,
                         features = NULL, top = 20L, ...) {
  which <- match.arg(which)
  switch(which, weights = if (by_cluster(object)) {
    ggplot2::ggplot(cells_of(object$weights, as_count(top, "top")),
                    aes_of(x = "cluster", y = "feature", fill = "weight")) + ggplot2::geom_tile(colour = "white") +
      ggplot2::scale_fill_gradient(low = "#FFFFFF", high = PALETTE[1L], limits = c(0, max(object$weights))) +
      ggplot2::labs(y = NULL)
  } else {
    bars_of(heaviest(object$weights, top)) +
      ggplot2::geom_vline(xintercept = 1 / length(object$weights), linetype = 2)
  }, trace = {
    trace <- object$trace
    frame <- data.frame(
      step = rep(trace$iteration, 2L), objective = c(trace$f_s, trace$f_inf),
      line = rep(c("annealed", "limit"), each = nrow(trace))
    )
    ggplot2::ggplot(frame, aes_of(x = "step", y = "objective", colour = "line", linetype = "line")) +
      ggplot2::geom_line() + ggplot2::scale_colour_manual(values = PALETTE[c(1L, 4L)]) +
      ggplot2::labs(colour = NULL, linetype = NULL)
  }, clusters = {
    if (is.null(data)) {
      stop("data is missing: give the data that were fitted; a fit does not hold them", call. = FALSE)
    }
    x <- rows_for(object, fitted_part(object, data), "data")
    x <- per_unit(x, row_sizes(object, x, own = TRUE))
    nearest <- max.col(-squared_distances(object, x), ties.method = "first")
    plane <- plane_of(object, at_means(object, x), features)
    frame <- data.frame(plane$rows, cluster = factor(nearest, seq_along(object$size)))
    centers <- data.frame(plane$centers, cluster = factor(seq_along(object$size)))
    names(frame)[1:2] <- names(centers)[1:2] <- c("first", "second")
    ggplot2::ggplot(frame, aes_of(x = "first", y = "second", colour = "cluster")) +
      ggplot2::geom_point(alpha = 0.6) + ggplot2::geom_point(data = centers, shape = 4, size = 4) +
      ggplot2::scale_colour_manual(values = rep_len(PALETTE, length(object$size))) +
      ggplot2::labs(x = plane$labels[1L], y = plane$labels[2L])
  })
}

#' @rdname autoplot.ewp
#' @exportS3Method ggplot2::autoplot
autoplot.ewp_bootstrap <- function(object, top = 20L, cluster = NULL, ...) {
  table <- drawn_weights(object, cluster)
  top <- as_count(top, "top")
  ends <- ggplot2::geom_errorbarh(aes_of(xmin = "lower", xmax = "upper"), height = 0.3)
  if (is.null(table$cluster)) return(bars_of(heaviest_rows(table, top)) + ends)
  table <- in_panels(table, top)
  numbers <- unique(table$cluster)
  table$cluster <- factor(table$cluster, numbers, paste("cluster", numbers))
  bars_of(table, list(aes_of(fill = "cluster"))) + ends + ggplot2::facet_wrap("cluster") +
    ggplot2::scale_fill_manual(values = rep_len(PALETTE, length(numbers)), guide = "none")
}

#' @rdname autoplot.ewp
#' @exportS3Method ggplot2::autoplot
autoplot.ewp_select_lambda <- function(object, ...) {
  table <- object$table[is.finite(object$table$mean), ]
  table$family <- family_name(table$scaling, table$dispersion)
  table[c("lower", "upper")] <- list(table$mean - table$se, table$mean + table$se)
  chosen <- table[is_chosen(object)[is.finite(object$table$mean)], ]
  ggplot2::ggplot(table, aes_of(x = "lambda_per_row", y = "mean", colour = "family")) +
    ggplot2::geom_line() +
    ggplot2::geom_pointrange(aes_of(ymin = "lower", ymax = "upper"), na.rm = TRUE) +
    ggplot2::geom_point(data = chosen, shape = 1, size = 6, colour = INK) +
    ggplot2::scale_x_log10() + ggplot2::scale_colour_manual(values = PALETTE) +
    ggplot2::labs(x = "penalty per row", y = object$unit, colour = NULL)
}

#' @rdname autoplot.ewp
#' @exportS3Method ggplot2::autoplot
autoplot.ewp_select_k <- function(object, ...) {
  table <- object$table
  table[c("lower", "upper")] <- list(table$mean - table$se, table$mean + table$se)
  ggplot2::ggplot(table, aes_of(x = "k", y = "mean")) + ggplot2::geom_line(colour = PALETTE[1L]) +
    ggplot2::geom_pointrange(aes_of(ymin = "lower", ymax = "upper"), colour = PALETTE[1L], na.rm = TRUE) +
    ggplot2::geom_point(data = table[table$k == object$k, ], shape = 1, size = 6) +
    ggplot2::scale_x_continuous(breaks = table$k) +
    ggplot2::labs(x = "number of clusters", y = object$unit)
}

#' @rdname autoplot.ewp
#' @exportS3Method ggplot2::autoplot
autoplot.ewp_consistency <- function(object, ...) {
  values <- c(object$table$weights, object$table$centroids)
  frame <- data.frame(
    rows = rep(object$effective_n, 2L), error = pmax(values, .Machine$double.eps),
    of = rep(c("weights", "centers"), each = length(object$effective_n))
  )
  ggplot2::ggplot(frame, aes_of(x = "rows", y = "error", colour = "of")) + ggplot2::geom_line() +
    ggplot2::geom_point() + ggplot2::scale_x_log10() + ggplot2::scale_y_log10() +
    ggplot2::scale_colour_manual(values = PALETTE) + ggplot2::labs(colour = NULL)
}

#' @rdname autoplot.ewp
#' @exportS3Method ggplot2::autoplot
autoplot.ewp_stability <- function(object, ...) {
  frame <- data.frame(
    cluster = factor(rep(colnames(object$jaccard), each = nrow(object$jaccard)), colnames(object$jaccard)),
    jaccard = as.vector(object$jaccard)
  )
  ggplot2::ggplot(frame, aes_of(x = "cluster", y = "jaccard")) +
    ggplot2::geom_boxplot(fill = PALETTE[5L]) +
    ggplot2::geom_hline(yintercept = c(0.5, 0.75), linetype = 2) + ggplot2::ylim(0, 1) +
    ggplot2::labs(y = "Jaccard similarity")
}

#' @rdname autoplot.ewp
#' @exportS3Method ggplot2::autoplot
autoplot.ewp_refine <- function(object, ...) {
  ggplot2::ggplot(uncertainty_frame(object), aes_of(x = "place", y = "uncertainty", colour = "rows")) +
    ggplot2::geom_point() + ggplot2::scale_colour_manual(values = c(stay = PALETTE[1L], move = PALETTE[4L])) +
    ggplot2::labs(x = "rows from sure to unsure, %", y = "1 - largest probability")
}

#' @rdname autoplot.ewp
#' @exportS3Method ggplot2::autoplot
autoplot.ewp_test_features <- function(object, top = 20L, ...) {
  table <- utils::head(object$table[order(-object$table$weight), ], as_count(top, "top"))
  table$feature <- factor(table$feature, rev(table$feature))
  table$significant <- ifelse(!is.na(table$p_bh) & table$p_bh <= 0.05, "BH at most 0.05", "above")
  table$size <- -log10(pmax(table$p_value, 1e-10))
  ggplot2::ggplot(table, aes_of(x = "size", y = "feature")) +
    ggplot2::geom_vline(xintercept = -log10(0.05), linetype = 3) +
    ggplot2::geom_point(aes_of(colour = "significant"), size = 2.5, na.rm = TRUE) +
    ggplot2::scale_colour_manual(values = c("BH at most 0.05" = PALETTE[4L], above = "#999999")) +
    ggplot2::labs(x = "minus the decimal logarithm of the p-value, given the other columns", y = NULL,
                  colour = NULL)
}

#' @rdname autoplot.ewp
#' @exportS3Method ggplot2::autoplot
autoplot.ewp_test_differences <- function(object, top = 20L, ...) {
  table <- drawn_differences(object, top)
  table$told <- ifelse(table$significant, "Holm at most 0.05", "above")
  ggplot2::ggplot(table, aes_of(x = "size", y = "feature", colour = "clusters", shape = "told")) +
    ggplot2::geom_vline(xintercept = -log10(0.05), linetype = 3) +
    ggplot2::geom_point(size = 2.5, na.rm = TRUE) +
    ggplot2::scale_shape_manual(values = c("Holm at most 0.05" = 19, above = 1)) +
    ggplot2::scale_colour_manual(values = rep_len(PALETTE, nlevels(table$clusters))) +
    ggplot2::labs(x = "minus the decimal logarithm of the p-value", y = NULL, shape = NULL)
}

#' @rdname autoplot.ewp
#' @exportS3Method ggplot2::autoplot
autoplot.ewp_compare <- function(object, top = 15L, ...) {
  order <- utils::head(order(-apply(object$weights, 1L, max)), as_count(top, "top"))
  shown <- object$weights[order, , drop = FALSE]
  frame <- data.frame(
    feature = factor(rep(rownames(shown), ncol(shown)), rev(rownames(shown))),
    weight = as.vector(shown), method = rep(colnames(shown), each = nrow(shown))
  )
  ggplot2::ggplot(frame, aes_of(x = "weight", y = "feature", fill = "method")) +
    ggplot2::geom_col(position = "dodge") + ggplot2::scale_fill_manual(values = PALETTE) +
    ggplot2::labs(y = NULL, fill = NULL)
}

#' @rdname autoplot.ewp
#' @exportS3Method ggplot2::autoplot
autoplot.ewp_trials <- function(object, ...) {
  frame <- object$scores
  frame$score <- frame[[object$measures[1L]]]
  frame$method <- factor(frame$method, rev(object$table$method))
  ggplot2::ggplot(frame, aes_of(x = "score", y = "method")) +
    ggplot2::geom_boxplot(fill = PALETTE[5L], na.rm = TRUE) +
    ggplot2::labs(x = object$measures[1L], y = NULL)
}
