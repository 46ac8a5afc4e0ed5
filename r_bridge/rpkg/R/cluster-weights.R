# Feature weights of every cluster: how they are asked for, what stands for them where one set of weights
# is needed, distances with their prices, the picture of them, and what they cannot answer.

# ---- options ---------------------------------------------------------------------------------

# Whose feature weights are, in Python's words.
WEIGHTS <- c("common", "cluster", "auto")

# The option of fits and selections; nothing where it is the default, which a Python package of before has
# too. In many functions of R `weights` would be weights of the rows.
weights_option <- function(weights) {
  if (identical(weights, WEIGHTS)) return(list())
  if (is.numeric(weights)) stop("weights of the rows are called sample_weight", call. = FALSE)
  weights <- as_choice(weights, "weights", WEIGHTS)
  if (weights == "common") list() else list(weights = weights)
}

# Whether the options of a fit or a selection leave no room for missing values, as far as is known beforehand.
needs_whole_rows <- function(...) identical(list(...)[["weights"]], "cluster")

# ---- fits ------------------------------------------------------------------------------------

by_cluster <- function(object) is.matrix(object$weights)

feature_names <- function(object) {
  if (by_cluster(object)) colnames(object$weights) else names(object$weights)
}

# One set of weights: the clusters' means, by mass, where they have weights of their own.
mean_weights <- function(object) {
  if (!by_cluster(object)) return(object$weights)
  mass <- object$metric$mass
  colSums(mass * object$weights) / sum(mass)
}

# Exponential of the weights' entropy, of the clusters' mean entropy, by mass, where each has its own.
effective_features <- function(weights, mass) {
  if (!is.matrix(weights)) return(effective(weights))
  exp(sum(mass * log(apply(weights, 1L, effective))) / sum(mass))
}

# What a fit does with missing values of new rows; with weights of every cluster own_distances() tells of them.
missing_in <- function(object) if (by_cluster(object)) "refused" else object$options$missing

# Squared distances of rows to all centres, each in its own metric and with the price of this.
own_distances <- function(object, x) {
  if (anyNA(x)) {
    stop("there are missing values, but distances with weights of every cluster (weights = \"cluster\") need ",
         "all values of a row: impute them, or leave these rows out", call. = FALSE)
  }
  rows <- columns_of(object, x)
  centers <- columns_of(object, object$centers)
  found <- vapply(seq_len(nrow(centers)), function(j) {
    away <- rows - rep(centers[j, ], each = nrow(rows))
    drop(away^2 %*% object$weights[j, ]) + object$metric$price[[j]]
  }, numeric(nrow(rows)))
  matrix(found, nrow(rows))
}

# Columns to show, those that are heaviest in any cluster, cluster by cluster.
heaviest_anywhere <- function(weights, top) {
  order <- utils::head(order(-apply(weights, 2L, max)), top)
  order[order(apply(weights[, order, drop = FALSE], 2L, which.max))]
}

# The heaviest columns of every cluster in words.
heaviest_in_words <- function(weights, top = 3L) {
  apply(weights, 1L, function(own) {
    first <- utils::head(order(-own), top)
    paste(sprintf("%s %.2f", colnames(weights)[first], own[first]), collapse = ", ")
  })
}

# ---- pictures --------------------------------------------------------------------------------

# Cells with more columns than this have no numbers.
MOST_WRITTEN <- 12L

plot_cluster_weights <- function(weights, top = 20L, given = list()) {
  shown <- heaviest_anywhere(weights, top)
  cells <- weights[, rev(shown), drop = FALSE]
  k <- nrow(cells)
  m <- ncol(cells)
  hidden <- ncol(weights) - m
  labels <- shorten(colnames(cells))
  shades <- given_or(given$col, grDevices::colorRampPalette(c("#FFFFFF", PALETTE[1L]))(65L))
  share <- cells / max(weights)
  local_par(mai = bar_margins(labels, c(if (hidden) 5.1 else 4.1, if (is.null(given$main)) 1.1 else 4.1, 1.6)))
  draw_frame(c(0.5, k + 0.5), c(0.5, m + 0.5), given, xaxt = "n", yaxt = "n", xaxs = "i", yaxs = "i",
             xlab = "cluster", ylab = "")
  graphics::rect(row(cells) - 0.5, col(cells) - 0.5, row(cells) + 0.5, col(cells) + 0.5, border = "white",
                 col = shades[1L + round(share * (length(shades) - 1L))])
  written <- k <= MOST_WRITTEN & cells >= 0.005
  if (any(written)) {
    graphics::text(row(cells)[written], col(cells)[written], sprintf("%.2f", cells[written]),
                   cex = 0.8 * given_or(given$cex, 1), col = ifelse(share[written] > 0.62, "white", INK))
  }
  graphics::axis(1, at = seq_len(k), labels = rownames(cells), tick = FALSE)
  graphics::axis(2, at = seq_len(m), labels = labels, las = 1, tick = FALSE)
  if (hidden) {
    rest <- 100 * max(1 - sum(cells) / sum(weights), 0)
    graphics::mtext(sprintf("%d lighter features hold %.3g %% of the weight", hidden, rest), side = 1, line = 4,
                    cex = 0.8, col = INK)
  }
}

# One row per cell, for ggplot2.
cells_of <- function(weights, top) {
  shown <- heaviest_anywhere(weights, top)
  cells <- weights[, shown, drop = FALSE]
  data.frame(
    cluster = factor(rep(rownames(cells), ncol(cells)), rownames(cells)),
    feature = factor(rep(colnames(cells), each = nrow(cells)), rev(colnames(cells))), weight = as.vector(cells)
  )
}

# The rows of a bootstrap's table of weights that are drawn: the clusters in turn, each with the columns that are
# heaviest in any of them, in the same order.
in_panels <- function(table, top) {
  table <- table[table$cluster <= MOST_WRITTEN, ]
  k <- max(table$cluster)
  p <- nrow(table) %/% k
  weights <- matrix(table$weight, k, p, byrow = TRUE)
  table[rows_about(heaviest_anywhere(weights, top), p, k), ]
}

MOST_ACROSS <- 4L

# Weights with their intervals, a panel for each cluster.
plot_weight_panels <- function(table, top, given) {
  p <- sum(table$cluster == 1L)
  drawn <- in_panels(table, top)
  panels <- split(drawn, drawn$cluster)
  k <- length(panels)
  labels <- rev(shorten(panels[[1L]]$feature))
  across <- min(k, MOST_ACROSS)
  colours <- rep_len(given_or(given$col, PALETTE), k)
  title <- given$main
  look <- with_defaults(given[setdiff(names(given), c("main", "xlab", "col"))],
                        xlim = range(pretty(c(0, drawn$weight, drawn$upper, 1 / p))))
  local_par(mfrow = c(ceiling(k / across), across))
  # mfrow makes letters smaller, and when it is set back larger again
  graphics::par(cex = 1)
  local_par(omi = bar_margins(labels, c(2.6, if (is.null(title)) 0.2 else 2, 0)) * c(1, 0.9, 1, 1))
  for (j in seq_len(k)) {
    draw_panel(panels[[j]], paste("cluster", j), if ((j - 1L) %% across == 0L) labels, p,
               c(look, list(col = colours[j])))
  }
  hidden <- c(if (p > length(labels)) counted(p - length(labels), "lighter feature"),
              if (max(table$cluster) > k) counted(max(table$cluster) - k, "more cluster"))
  note <- paste0("dashed: uniform, 1/", p, if (length(hidden)) paste0("; not drawn: ", listing(hidden)))
  graphics::mtext(given$xlab, side = 1, line = 0, outer = TRUE, col = INK)
  graphics::mtext(note, side = 1, line = 1.3, outer = TRUE, cex = 0.8, col = INK)
  if (!is.null(title)) graphics::mtext(title, side = 3, line = 0.4, outer = TRUE, font = 2, cex = 1.2)
}

draw_panel <- function(panel, title, labels, p, given) {
  m <- nrow(panel)
  upwards <- panel[rev(seq_len(m)), ]
  given <- draw_bars(upwards$weight, rep("", m), given, below = 2.1, above = 1.4)
  draw_ends(given$at, upwards$lower, upwards$upper)
  graphics::abline(v = 1 / p, lty = 2, col = INK)
  graphics::mtext(title, side = 3, line = 0.2, adj = 0, cex = 0.9, col = INK)
  if (!is.null(labels)) {
    # as large as the bars leave room for, so that none is left out
    room <- graphics::par("pin")[2L] / m / graphics::par("cin")[2L]
    size <- min(given_or(given$cex.names, graphics::par("cex.axis")), room)
    graphics::axis(2, at = given$at, labels = labels, las = 1, tick = FALSE, cex.axis = size, gap.axis = -1)
  }
}

# ---- questions -------------------------------------------------------------------------------

# What is asked about one set of weights ends here for other fits.
stop_unless_common <- function(object, what) {
  if (!by_cluster(object)) return(invisible())
  stop(what, " asks about one set of feature weights, but this fit has one for every cluster ",
       "(weights = \"cluster\"): ask the fit with common ones, ewp_refit(fit, x, weights = \"common\")",
       call. = FALSE)
}

cluster_weight_notes <- function(object) {
  if (!by_cluster(object)) return(character())
  paste("Every cluster has feature weights of its own, coef(); those of the table of features are their means,",
        "by mass. features, heaviest: effective features of a cluster, and which weigh most. Every row pays for the",
        "concentration of its cluster's weights: the price is part of distances, not of withinss.")
}
