# Pictures of a fit, in base graphics. Colours are those of the Python package's pictures: seven that
# people with any colour vision tell apart (after Okabe and Ito).

PALETTE <- c("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#4D4D4D")
PHASES <- c(anneal = "#FFFFFF", finish = "#E8EEF4", polish = "#F6EBDD")
INK <- "#333333"
MAX_POINTS <- 5000L

#' Plot a fit
#'
#' @param x A fit made by [ewp()].
#' @param which `"weights"` for the heaviest columns as bars (where every cluster has weights of its own, as a heat
#'   map with one column a cluster), `"trace"` for the objective along the
#'   steps, `"clusters"` for the rows in the plane, coloured by their cluster.
#' @param data The data, for `which = "clusters"`; a fit does not hold them.
#' @param features Names of two columns to draw the clusters in. By default the two heaviest if they
#'   hold 99 % of the weight, else the first two principal components in the learned metric (of mean weights,
#'   where every cluster has its own).
#' @param top Number of columns to draw, heaviest first.
#' @param ... Graphical parameters in the place of the defaults, handed to [graphics::barplot()] for
#'   the weights and to [graphics::plot.default()] for the others: `main`, `xlim`, `ylim`, `xlab`,
#'   `cex`, `pch`, `col` (for the clusters one colour for each, or one for each row; for a heat map the
#'   colours from no weight to the largest) and so on.
#' @return `x`, invisibly.
#' @examplesIf ewp_available()
#' fit <- ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1)
#' plot(fit)
#' plot(fit, "trace")
#' plot(fit, "clusters", data = iris)
#' @export
plot.ewp <- function(x, which = c("weights", "trace", "clusters"), data = NULL, features = NULL,
                     top = 20L, ...) {
  which <- match.arg(which)
  given <- list(...)
  switch(which,
    weights = {
      draw <- if (by_cluster(x)) plot_cluster_weights else plot_weights
      draw(x$weights, as_count(top, "top"), given = given)
    },
    trace = plot_trace(x, given),
    clusters = plot_clusters(x, data, features, given)
  )
  invisible(x)
}

# What a user gave, and where nothing was given the defaults.
with_defaults <- function(given, ...) {
  defaults <- list(...)
  c(given, defaults[setdiff(names(defaults), names(given))])
}

given_or <- function(value, default) if (is.null(value)) default else value

# Empty axes that hold x and y, with the graphical parameters that a user gave before all others.
# Those of the points themselves are for who draws the points.
draw_frame <- function(x, y, given, ...) {
  given <- given[setdiff(names(given), c("col", "cex", "pch", "type"))]
  arguments <- with_defaults(given, ..., bty = "n", las = 1, main = NULL)
  do.call(graphics::plot.default, c(list(x, y, type = "n"), arguments))
}

# Set graphical parameters until the calling function ends.
local_par <- function(..., frame = parent.frame()) {
  before <- graphics::par(...)
  do.call(on.exit, list(bquote(graphics::par(.(before))), add = TRUE), envir = frame)
}

# Margins in inches for bars whose labels stand at the left, and may not need half of the picture.
bar_margins <- function(labels, lines) {
  # Asking for a width opens a device if there is none.
  line <- graphics::par("mex") * graphics::par("cin")[2L] * graphics::par("cex")
  width <- max(graphics::strwidth(labels, units = "inches", cex = graphics::par("cex.axis")))
  room <- min(width, 0.45 * graphics::par("din")[1L])
  c(lines[1L] * line, room + (graphics::par("mgp")[2L] + 0.5) * line, lines[2:3] * line)
}

# Horizontal bars with their labels at the left, in margins that stay until the calling function ends.
# Returns what draw_frame() would leave to barplot(), and where the bars are.
draw_bars <- function(heights, labels, given, below = 4.1, above = 1.1, ...) {
  # barplot() has two sizes whose names begin with cex.
  if (!is.null(given$cex)) given[c("cex.names", "cex.axis")] <- given$cex
  given$cex <- NULL
  given <- with_defaults(given, ..., names.arg = labels, las = 1, border = NA,
                         xlim = range(pretty(c(0, heights))))
  local_par(mai = bar_margins(labels, c(below, if (is.null(given$main)) above else 4.1, 1.6)),
            frame = parent.frame())
  given$at <- do.call(graphics::barplot, c(list(heights, horiz = TRUE), given))
  given
}

plot_weights <- function(weights, top = 20L, lower = NULL, upper = NULL, given = list()) {
  p <- length(weights)
  order <- rev(utils::head(order(-weights), top))
  limit <- max(weights[order], upper[order], 1 / p)
  given <- draw_bars(unname(weights[order]), shorten(names(weights)[order]), given,
                     below = if (p > top) 5.1 else 4.1, above = 2.1, col = PALETTE[1L],
                     xlab = "weight", xlim = range(pretty(c(0, limit))))
  at <- given$at
  if (!is.null(lower)) draw_ends(at, lower[order], upper[order])
  if (1 / p <= max(given$xlim)) {
    graphics::abline(v = 1 / p, lty = 2, col = INK)
    near <- 1 / p > 0.6 * max(given$xlim)
    graphics::mtext(paste0("uniform, 1/", p), at = 1 / p, adj = if (near) 1 else 0, cex = 0.8, col = INK)
  }
  if (p > top) {
    rest <- 100 * max(1 - sum(weights[order]) / sum(weights), 0)
    graphics::mtext(sprintf("the other %d features hold %.3g %% of the weight", p - top, rest),
                    side = 1, line = 4, cex = 0.8, col = INK)
  }
  invisible(at)
}

# Intervals over horizontal bars.
draw_ends <- function(at, lower, upper) {
  ends <- c(lower, upper)
  graphics::segments(lower, at, upper, at, col = INK, lwd = 1.4)
  graphics::segments(ends, at - 0.12, ends, at + 0.12, col = INK, lwd = 1.4)
}

shorten <- function(names, most = 36L) {
  long <- nchar(names) > most
  half <- (most - 3L) %/% 2L
  names[long] <- paste0(substr(names[long], 1L, half), "...",
                        substring(names[long], nchar(names[long]) - half + 1L))
  names
}

plot_trace <- function(fit, given = list()) {
  trace <- fit$trace
  colour <- rep_len(given_or(given$col, PALETTE[c(1L, 4L)]), 2L)
  draw_frame(range(trace$iteration), range(trace$f_s, trace$f_inf, finite = TRUE), given,
             xlab = "step", ylab = "objective")
  shade_phases(trace)
  graphics::lines(trace$iteration, trace$f_inf, col = colour[2L], lwd = 2, lty = 2)
  graphics::lines(trace$iteration, trace$f_s, col = colour[1L], lwd = 2)
  entries <- list(
    legend = c(expression(f[s] * ", annealed"), expression(f[-infinity] * ", limit")),
    col = colour, lty = 1:2, lwd = 2
  )
  reached <- which(is.finite(trace$s) & trace$s <= fit$critical_exponent)
  # Nothing to mark where the annealing starts below it.
  if (length(reached) && reached[1L] > 1L) {
    graphics::abline(v = trace$iteration[reached[1L]], lty = 3, col = INK)
    entries$legend <- c(entries$legend, bquote("critical exponent " * .(signif(fit$critical_exponent, 3))))
    entries$legend <- as.expression(entries$legend)
    entries$col <- c(entries$col, INK)
    entries$lty <- c(entries$lty, 3)
    entries$lwd <- c(entries$lwd, 1, 1)[seq_along(entries$legend)]
  }
  do.call(graphics::legend, c(list("topright", bty = "n", inset = c(0.02, 0.06), y.intersp = 1.3), entries))
}

shade_phases <- function(trace) {
  box <- graphics::par("usr")
  bands <- phase_bands(trace, box[1L], box[2L])
  if (!nrow(bands)) return(invisible())
  graphics::rect(bands$start, box[3L], bands$end, box[4L], col = PHASES[bands$phase], border = NA)
  # A name is written where there is room for it.
  named <- bands[bands$end - bands$start > graphics::strwidth(bands$phase, cex = 0.8), ]
  if (nrow(named)) {
    graphics::text((named$start + named$end) / 2, rep(box[4L], nrow(named)), named$phase, cex = 0.8,
                   col = INK, pos = 1, offset = 0.3, xpd = NA)
  }
}

# Where the phases lie between the left and the right end of a picture. The phase of a row is that of
# the step which starts there; none starts from the last row.
phase_bands <- function(trace, left, right) {
  runs <- rle(utils::head(trace$phase, -1L))
  edges <- trace$iteration[cumsum(c(1L, runs$lengths))]
  inner <- edges[-c(1L, length(edges))]
  count <- seq_along(runs$values)
  data.frame(phase = runs$values, start = c(left, inner)[count], end = c(inner, right)[count])
}

plot_clusters <- function(fit, data, features = NULL, given = list()) {
  if (is.null(data)) {
    stop("data is missing: give the data that were fitted; a fit does not hold them", call. = FALSE)
  }
  x <- rows_for(fit, fitted_part(fit, data), "data")
  n <- nrow(x)
  x <- per_unit(x, row_sizes(fit, x, own = TRUE))
  drawn <- if (n > MAX_POINTS) round(seq(1, n, length.out = MAX_POINTS)) else seq_len(n)
  x <- x[drawn, , drop = FALSE]
  cluster <- max.col(-squared_distances(fit, x), ties.method = "first")
  plane <- plane_of(fit, at_means(fit, x), features)
  k <- length(fit$size)
  by_row <- function(value) if (length(value) == n) value[drawn] else rep_len(value, k)[cluster]
  colour <- given_or(given$col, PALETTE)
  marks <- rep(c(19, 17, 15, 18, 1, 2, 0, 5), each = length(PALETTE))
  both <- rbind(plane$rows, plane$centers)
  draw_frame(range(both[, 1L]), range(both[, 2L]), given, xlab = plane$labels[1L],
             ylab = plane$labels[2L])
  graphics::points(plane$rows, col = grDevices::adjustcolor(by_row(colour), 0.6),
                   pch = by_row(given_or(given$pch, marks)), cex = 0.8 * given_or(given$cex, 1))
  ring <- if (length(colour) == n && n > k) INK else rep_len(colour, k)
  graphics::points(plane$centers, pch = 21, bg = "white", col = ring, cex = 3, lwd = 2)
  graphics::text(plane$centers, labels = seq_along(fit$size), cex = 0.9, col = INK)
}

# Coordinates of rows and centres in the plane to draw, and what its axes are called.
plane_of <- function(fit, x, features) {
  weights <- mean_weights(fit)
  names <- names(weights)
  order <- order(-weights)
  if (is.null(features) && length(names) == 1L) features <- names
  if (is.null(features) && sum(weights[order[1:2]]) >= 0.99) features <- names[order[1:2]]
  if (!is.null(features)) {
    unknown <- setdiff(features, names)
    if (length(unknown)) stop("features: no column is called ", listing(unknown), call. = FALSE)
    if (!length(features) %in% 1:2) stop("features must name one or two columns", call. = FALSE)
    labels <- sprintf("%s (%s %.2g)", features, if (by_cluster(fit)) "mean weight" else "weight", weights[features])
    if (length(features) == 1L) {
      # One column alone: the rows are spread in the other direction by their order.
      spread <- (seq_len(nrow(x)) * 0.618034) %% 1
      return(list(
        rows = cbind(x[, features], spread),
        centers = cbind(fit$centers[, features], 0.5), labels = c(labels, "(no meaning)")
      ))
    }
    return(list(
      rows = unname(x[, features]), centers = unname(fit$centers[, features, drop = FALSE]),
      labels = labels
    ))
  }
  inside <- function(rows) {
    sweep(columns_of(fit, rows), 2L, sqrt(weights), "*")[, weights > 0, drop = FALSE]
  }
  rows <- inside(x)
  found <- svd(scale(rows, scale = FALSE), nu = 0L, nv = 2L)
  share <- 100 * found$d^2 / sum(found$d^2)
  list(
    rows = unname(rows %*% found$v), centers = unname(inside(fit$centers) %*% found$v),
    labels = sprintf("weighted PC %d (%.0f %% of variance)", 1:2, share[1:2])
  )
}
