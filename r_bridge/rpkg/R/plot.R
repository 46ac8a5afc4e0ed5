# Pictures of a fit, in base graphics. Colours are those of the Python package's pictures: seven that
# people with any colour vision tell apart (after Okabe and Ito).

PALETTE <- c("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#4D4D4D")
PHASES <- c(anneal = "#FFFFFF", finish = "#E8EEF4", polish = "#F6EBDD")
INK <- "#333333"
MAX_POINTS <- 5000L

#' Plot a fit
#'
#' @param x A fit made by [ewp()].
#' @param which `"weights"` for the heaviest columns as bars, `"trace"` for the objective along the
#'   steps, `"clusters"` for the rows in the plane, coloured by their cluster.
#' @param data The data, for `which = "clusters"`; a fit does not hold them.
#' @param features Names of two columns to draw the clusters in. By default the two heaviest if they
#'   hold 99 % of the weight, else the first two principal components in the learned metric.
#' @param top Number of columns to draw, heaviest first.
#' @param main Title.
#' @param ... Further graphical parameters, handed to [graphics::barplot()] for the weights and to
#'   [graphics::plot.default()] for the others.
#' @return `x`, invisibly.
#' @examplesIf ewp_available()
#' fit <- ewp(iris[, 1:4], 3, lambda = 20, scale = TRUE, seed = 1)
#' plot(fit)
#' plot(fit, "trace")
#' plot(fit, "clusters", data = iris)
#' @export
plot.ewp <- function(x, which = c("weights", "trace", "clusters"), data = NULL, features = NULL,
                     top = 20L, main = NULL, ...) {
  which <- match.arg(which)
  switch(which,
    weights = plot_weights(x$weights, top = as_count(top, "top"), main = main, ...),
    trace = plot_trace(x, main = main, ...),
    clusters = plot_clusters(x, data, features, main = main, ...)
  )
  invisible(x)
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

plot_weights <- function(weights, top = 20L, lower = NULL, upper = NULL, main = NULL,
                         xlab = "weight", col = PALETTE[1L], border = NA, ...) {
  p <- length(weights)
  order <- rev(utils::head(order(-weights), top))
  labels <- shorten(names(weights)[order])
  local_par(mai = bar_margins(labels, c(if (p > top) 5.1 else 4.1, if (is.null(main)) 2.1 else 4.1, 1.6)))
  limit <- max(weights[order], upper[order], 1 / p)
  at <- graphics::barplot(
    unname(weights[order]), horiz = TRUE, names.arg = labels, las = 1, col = col, border = border,
    xlim = range(pretty(c(0, limit))), xlab = xlab, main = main, ...
  )
  if (!is.null(lower)) {
    ends <- c(lower[order], upper[order])
    graphics::segments(lower[order], at, upper[order], at, col = INK, lwd = 1.4)
    graphics::segments(ends, at - 0.12, ends, at + 0.12, col = INK, lwd = 1.4)
  }
  graphics::abline(v = 1 / p, lty = 2, col = INK)
  near <- 1 / p > 0.6 * limit
  graphics::mtext(paste0("uniform, 1/", p), at = 1 / p, adj = if (near) 1 else 0, cex = 0.8, col = INK)
  if (p > top) {
    rest <- 100 * max(1 - sum(weights[order]) / sum(weights), 0)
    graphics::mtext(sprintf("the other %d features hold %.3g %% of the weight", p - top, rest),
                    side = 1, line = 4, cex = 0.8, col = INK)
  }
  invisible(at)
}

shorten <- function(names, most = 36L) {
  long <- nchar(names) > most
  half <- (most - 3L) %/% 2L
  names[long] <- paste0(substr(names[long], 1L, half), "...",
                        substring(names[long], nchar(names[long]) - half + 1L))
  names
}

plot_trace <- function(fit, main = NULL, xlab = "step", ylab = "objective", ...) {
  trace <- fit$trace
  range <- range(trace$f_s, trace$f_inf, finite = TRUE)
  graphics::plot(range(trace$iteration), range, type = "n", xlab = xlab, ylab = ylab, main = main,
                 bty = "n", las = 1, ...)
  shade_phases(trace)
  graphics::lines(trace$iteration, trace$f_inf, col = PALETTE[4L], lwd = 2, lty = 2)
  graphics::lines(trace$iteration, trace$f_s, col = PALETTE[1L], lwd = 2)
  entries <- list(
    legend = c(expression(f[s] * ", annealed"), expression(f[-infinity] * ", limit")),
    col = PALETTE[c(1L, 4L)], lty = 1:2, lwd = 2
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
  graphics::rect(bands$start, box[3L], bands$end, box[4L], col = PHASES[bands$phase], border = NA)
  # A name is written where there is room for it.
  named <- bands[bands$end - bands$start > graphics::strwidth(bands$phase, cex = 0.8), ]
  graphics::text((named$start + named$end) / 2, rep(box[4L], nrow(named)), named$phase, cex = 0.8,
                 col = INK, pos = 1, offset = 0.3, xpd = NA)
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

plot_clusters <- function(fit, data, features = NULL, main = NULL, xlab = NULL, ylab = NULL,
                          pch = 19, ...) {
  if (is.null(data)) {
    stop("data is missing: give the data that were fitted; a fit does not hold them", call. = FALSE)
  }
  x <- rows_for(fit, data, "data")
  if (nrow(x) > MAX_POINTS) x <- x[round(seq(1, nrow(x), length.out = MAX_POINTS)), , drop = FALSE]
  cluster <- max.col(-squared_distances(fit, x), ties.method = "first")
  plane <- plane_of(fit, x, features)
  colour <- rep_len(PALETTE, length(fit$size))
  shape <- rep(c(pch, 17, 15, 18, 1, 2, 0, 5), each = length(PALETTE))
  shape <- rep_len(shape, length(fit$size))
  both <- rbind(plane$rows, plane$centers)
  graphics::plot(
    plane$rows, col = grDevices::adjustcolor(colour[cluster], 0.6), pch = shape[cluster], cex = 0.8,
    xlim = range(both[, 1L]), ylim = range(both[, 2L]), main = main, bty = "n", las = 1,
    xlab = if (is.null(xlab)) plane$labels[1L] else xlab,
    ylab = if (is.null(ylab)) plane$labels[2L] else ylab, ...
  )
  graphics::points(plane$centers, pch = 21, bg = "white", col = colour, cex = 3, lwd = 2)
  graphics::text(plane$centers, labels = seq_along(fit$size), cex = 0.9, col = INK)
}

# Coordinates of rows and centres in the plane to draw, and what its axes are called.
plane_of <- function(fit, x, features) {
  names <- names(fit$weights)
  order <- order(-fit$weights)
  if (is.null(features) && length(names) == 1L) features <- names
  if (is.null(features) && sum(fit$weights[order[1:2]]) >= 0.99) features <- names[order[1:2]]
  if (!is.null(features)) {
    unknown <- setdiff(features, names)
    if (length(unknown)) stop("features: no column is called ", listing(unknown), call. = FALSE)
    if (!length(features) %in% 1:2) stop("features must name one or two columns", call. = FALSE)
    labels <- sprintf("%s (weight %.2g)", features, fit$weights[features])
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
    rows <- sweep(sweep(rows, 2L, fit$metric$center), 2L, fit$metric$scale, "/")
    sweep(rows, 2L, sqrt(fit$weights), "*")[, fit$weights > 0, drop = FALSE]
  }
  rows <- inside(x)
  found <- svd(scale(rows, scale = FALSE), nu = 0L, nv = 2L)
  share <- 100 * found$d^2 / sum(found$d^2)
  list(
    rows = unname(rows %*% found$v), centers = unname(inside(fit$centers) %*% found$v),
    labels = sprintf("weighted PC %d (%.0f %% of variance)", 1:2, share[1:2])
  )
}
