# Divergences other than squared differences: what they ask of the data, and how far rows are from
# centres, in R alone, so that fits predict and are drawn without Python.

x_log_ratio <- function(x, theta) {
  found <- x * log(x / theta)
  found[x == 0] <- 0
  found
}

# One entry beside the other: values, and centres inside of the domain.
FAMILIES <- list(
  euclidean = list(
    lower = -Inf, upper = Inf, closed = TRUE, domain = "numbers",
    divergence = function(x, theta) (x - theta)^2,
    curvature = function(mean) rep(2, length(mean))
  ),
  poisson = list(
    lower = 0, upper = Inf, closed = TRUE, domain = "0 or more",
    divergence = function(x, theta) x_log_ratio(x, theta) - x + theta,
    curvature = function(mean) 1 / mean
  ),
  bernoulli = list(
    lower = 0, upper = 1, closed = TRUE, domain = "from 0 to 1",
    divergence = function(x, theta) x_log_ratio(x, theta) + x_log_ratio(1 - x, 1 - theta),
    curvature = function(mean) 1 / (mean * (1 - mean))
  ),
  gamma = list(
    lower = 0, upper = Inf, closed = FALSE, domain = "above 0",
    divergence = function(x, theta) (x - theta) / theta - log1p((x - theta) / theta),
    curvature = function(mean) mean^-2
  )
)

# ---- options ---------------------------------------------------------------------------------

# The options that fits, selections and grids share, under Python's names; nothing where they are the
# default, which a Python package of before has too.
divergence_options <- function(rows, divergence = "euclidean", offset = NULL) {
  names <- as_divergences(divergence, colnames(rows$x))
  if (!is.null(names)) check_domains(rows$x, names)
  sizes <- as_sizes(offset, names, rows)
  c(
    if (!is.null(names)) {
      list(divergence = if (all(names == names[1L])) names[[1L]] else as.list(unname(names)))
    },
    if (!is.null(sizes)) list(offset = sizes)
  )
}

# The divergence of every column; NULL if all have squared differences.
as_divergences <- function(divergence, columns) {
  if (is.list(divergence)) divergence <- unlist(divergence)
  if (!is.character(divergence) || anyNA(divergence)) {
    stop("divergence = ", shown(divergence), " is no divergence; give one of ",
         listing(dQuote(names(FAMILIES), FALSE)), ", one for each column, or a vector with names of columns",
         call. = FALSE)
  }
  for (one in unique(divergence)) as_choice(one, "divergence", names(FAMILIES))
  found <- stats::setNames(rep("euclidean", length(columns)), columns)
  if (!is.null(names(divergence))) {
    unknown <- setdiff(names(divergence), columns)
    if (length(unknown)) {
      stop("divergence names ", listing(dQuote(unknown, FALSE)), ", which is no column; the columns are ",
           listing(columns), call. = FALSE)
    }
    found[names(divergence)] <- divergence
  } else if (length(divergence) == 1L || length(divergence) == length(columns)) {
    found[] <- divergence
  } else {
    stop("divergence names ", length(divergence), " families for ", counted(length(columns), "column"),
         "; give one for all, one for each, or a vector with names of columns", call. = FALSE)
  }
  if (all(found == "euclidean")) NULL else found
}

ANOTHER <- paste("give that column another divergence, such as \"euclidean\", by a vector with names of",
                 "columns, or mend it")

check_domains <- function(x, names, cure = ANOTHER) {
  if (anyNA(x)) {
    stop("divergence = ", dQuote(names[names != "euclidean"][[1L]], FALSE), " needs whole rows: leave those ",
         "with missing values out, with na.action = na.omit, or impute the values", call. = FALSE)
  }
  for (column in seq_along(names)) {
    family <- FAMILIES[[names[[column]]]]
    values <- x[, column]
    wrong <- if (family$closed) values < family$lower | values > family$upper else values <= family$lower
    if (!any(wrong)) next
    row <- which(wrong)[1L]
    stop("divergence = ", dQuote(names[[column]], FALSE), " is for values ", family$domain, ": ",
         colnames(x)[column], " has ", format(values[[row]], digits = 4L), " in row ", called_rows(x, row),
         "; ", cure, call. = FALSE)
  }
}

# Sizes of the rows that are kept, "size" for their totals, or NULL.
as_sizes <- function(offset, names, rows) {
  if (is.null(offset)) return(NULL)
  if (is.null(names) || any(names != "poisson")) {
    other <- if (is.null(names)) "euclidean" else names[names != "poisson"][[1L]]
    stop("offset is for counts, but there is a column with divergence = ", dQuote(other, FALSE),
         "; give all columns divergence = \"poisson\", or leave offset out", call. = FALSE)
  }
  if (is.character(offset)) {
    as_choice(offset, "offset", "size")
    check_totals(rows$x)
    return(offset)
  }
  if (!is.null(rows$kept) && length(offset) == rows$given) offset <- offset[rows$kept]
  as.array(checked_sizes(offset, nrow(rows$x)))
}

checked_sizes <- function(offset, n) {
  if (!is.numeric(offset) || length(offset) != n || !all(is.finite(offset)) || any(offset <= 0)) {
    stop("offset must be \"size\", or hold a positive size for each of the ", counted(n, "row"),
         ": sizes themselves, not their logarithms", call. = FALSE)
  }
  as.double(offset)
}

check_totals <- function(x) {
  empty <- which(rowSums(x) <= 0)
  if (!length(empty)) return(invisible())
  stop("offset = \"size\": ", counted(length(empty), "row"), " without any count, and so without a size: ",
       listing(called_rows(x, empty)), "; leave ",
       if (length(empty) == 1L) "it" else "them", " out, or give sizes of your own", call. = FALSE)
}

# Rows by their names, or by their numbers where they have none.
called_rows <- function(x, rows) {
  names <- rownames(x)[rows]
  if (is.null(names) || !all(nzchar(names))) rows else names
}

# ---- fits ------------------------------------------------------------------------------------

# What predictions need of Python's FittedFamilies, as plain R data; NULL where all is squared.
from_families <- function(families) {
  if (is.null(from_python(families))) return(NULL)
  made <- families$divergence
  sizes <- families$sizes
  list(
    mean = from_vector(made$mean), units = from_vector(made$units),
    lowest = from_vector(made$lowest), highest = from_vector(made$highest),
    total = from_vector(families$total), reference = from_python(families$reference),
    sizes = if (!is.null(from_python(sizes))) from_vector(sizes)
  )
}

# Python's FittedFamilies of a fit: the reverse of from_families().
as_families <- function(object) {
  kept <- object$metric$families
  if (is.null(kept)) return(NULL)
  vector <- function(value) to_array(as.array(as.double(value)))
  made <- reticulate::import("ewp.engine.divergence", convert = FALSE)$ColumnDivergence(
    reticulate::tuple(as.list(unname(object$divergence))), vector(kept$mean), vector(kept$units),
    vector(kept$lowest), vector(kept$highest)
  )
  reticulate::import("ewp.engine.columns", convert = FALSE)$FittedFamilies(
    made, vector(kept$total), kept$reference, if (!is.null(kept$sizes)) vector(kept$sizes)
  )
}

# Sizes of rows, which are checked first, NULL where rows have none; `own` says that they are the rows of the fit.
row_sizes <- function(object, x, offset = NULL, own = FALSE) {
  kept <- object$metric$families
  if (!is.null(kept)) {
    used <- object$weights > 0
    check_domains(x[, used, drop = FALSE], object$divergence[used], "the fit was to such values alone")
  }
  if (is.null(kept$sizes)) {
    if (!is.null(offset)) stop("the rows of the fit had no sizes: leave offset out", call. = FALSE)
    return(NULL)
  }
  if (!is.null(kept$reference)) {
    if (!is.null(offset)) {
      stop("the sizes of rows are their totals here (offset = \"size\"): leave offset out", call. = FALSE)
    }
    check_totals(x)
    return(rowSums(x) / kept$reference)
  }
  if (!is.null(offset)) return(checked_sizes(offset, nrow(x)))
  if (own && nrow(x) == length(kept$sizes)) return(kept$sizes)
  stop("the rows of the fit had sizes of their own: give those of ", if (own) "the data" else "newdata",
       " as offset", call. = FALSE)
}

per_unit <- function(x, sizes) if (is.null(sizes)) x else x / sizes

# Weighted divergences of rows, per unit of their size, from all centres.
divergences <- function(object, x) {
  kept <- object$metric$families
  used <- object$weights > 0
  weights <- (object$weights * kept$units)[used]
  by_family <- split(seq_len(sum(used)), object$divergence[used])
  found <- vapply(seq_len(nrow(object$centers)), function(j) {
    theta <- object$centers[j, used]
    near <- pmin(pmax(theta, kept$lowest[used]), kept$highest[used])
    total <- numeric(nrow(x))
    for (name in names(by_family)) {
      family <- FAMILIES[[name]]
      columns <- by_family[[name]]
      rows <- x[, used, drop = FALSE][, columns, drop = FALSE]
      parts <- family$divergence(rows, rep(near[columns], each = nrow(x)))
      for (end in c(family$lower, family$upper)) {
        # rows at the end of the domain themselves are at no distance from a centre there
        there <- which(theta[columns] == end)
        if (length(there)) {
          least <- family$divergence(end, near[columns[there]])
          parts[, there] <- parts[, there] - rep(least, each = nrow(x))
        }
      }
      total <- total + drop(pmax(parts, 0) %*% weights[columns])
    }
    total
  }, numeric(nrow(x)))
  matrix(found, nrow(x))
}

# Rows, or centres, per unit of size as columns whose squared differences are close to the divergences
# near the mean.
tangents <- function(object, rows) {
  kept <- object$metric$families
  mean <- pmin(pmax(kept$mean, kept$lowest), kept$highest)
  curvature <- numeric(length(mean))
  for (name in unique(object$divergence)) {
    own <- object$divergence == name
    curvature[own] <- FAMILIES[[name]]$curvature(mean[own])
  }
  curvature[kept$total <= 0] <- 0
  sweep(sweep(rows, 2L, object$metric$center), 2L, sqrt(0.5 * curvature * kept$units), "*")
}

is_squared <- function(object) is.null(object$metric$families)

# What is for squared differences alone ends here for other fits.
stop_unless_squared <- function(object, what) {
  if (is_squared(object)) return(invisible())
  stop(what, " is for squared differences, but columns of the fit have divergence = ",
       listing(dQuote(setdiff(unique(object$divergence), "euclidean"), FALSE)), call. = FALSE)
}

divergence_notes <- function(object) {
  if (is_squared(object)) return(character())
  counts <- table(factor(object$divergence, unique(object$divergence)))
  sizes <- object$metric$families$sizes
  c(
    if (length(counts) > 1L) {
      paste0("Divergences of the columns: ", paste(counts, names(counts), collapse = ", "), ".")
    } else paste0("Divergence: ", names(counts), "."),
    if (!is.null(sizes)) {
      sprintf(paste("Sizes of rows: %.2g to %.3g, %s. A row of size s is compared with s times the centers, which",
                    "are per unit of size."), min(sizes), max(sizes),
              if (is.null(object$metric$families$reference)) "as given" else "row totals over their mean")
    },
    if (object$scaling == "standard") {
      paste("Weights relate to standardised features: the divergence of each is divided by its mean from the",
            "mean of all rows.")
    }
  )
}
