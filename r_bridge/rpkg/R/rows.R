# From what a user gives as data to the rows that are clustered: a matrix or data frame, or a formula
# with its data; a subset of the rows; what to do about missing values. And the way back: the rows of
# a fit, found again in data.

# The rows of a matrix or data frame: `x`, and `kept` where not all that were given are in it.
default_rows <- function(x, subset = NULL, na.action = NULL, what = "x", whole = FALSE) {
  choose_rows(list(x = as_data_matrix(x, what, finite = FALSE)), subset, na.action, what, whole)
}

# The rows of a formula without a response, with its terms for use with new data.
formula_rows <- function(formula, data, subset = NULL, na.action = NULL, what = "data", whole = FALSE) {
  if (length(formula) != 2L) {
    stop("the formula has a response; clustering has none: write ~ a + b", call. = FALSE)
  }
  if (!is.null(data) && !is.data.frame(data)) {
    if (is.matrix(data)) data <- as.data.frame(data)
    else if (!is.list(data) && !is.environment(data)) {
      stop("data must be a data frame", call. = FALSE)
    }
  }
  terms <- stats::terms(formula, data = data)
  if (!is.null(attr(terms, "offset"))) {
    stop("the formula has offset(): give the sizes of rows of counts as the argument offset, sizes themselves ",
         "and not their logarithms", call. = FALSE)
  }
  choose_rows(formula_data(without_dropped(terms), data, what), subset, na.action, what, whole)
}

# Terms without the variables that a formula drops, as in ~ . - name: what these are does not matter, and new data
# need not have them.
without_dropped <- function(terms) {
  factors <- attr(terms, "factors")
  if (!length(factors) || all(rowSums(factors) > 0)) return(terms)
  kept <- stats::reformulate(attr(terms, "term.labels"), intercept = attr(terms, "intercept") == 1L,
                             env = environment(terms))
  stats::terms(kept)
}

# What `subset` means, evaluated among the columns of the data as in lm().
subset_of <- function(expression, data, frame) {
  eval(expression, if (is.data.frame(data) || is.list(data)) data, frame)
}

# With na.pass missing values stay, and Python is told to do without them, unless whole rows are needed.
choose_rows <- function(found, subset, na.action, what, whole) {
  given <- nrow(found$x)
  kept <- seq_len(given)
  if (!is.null(subset)) kept <- kept[as_subset(subset, found$x)]
  if (!is.null(na.action)) {
    if (passes(na.action)) found$missing <- "observed"
    omitted <- omitted_rows(found$x[kept, , drop = FALSE], na.action)
    if (length(omitted)) kept <- kept[-omitted]
    found$na.action <- omitted
  }
  if (length(kept) < given || !identical(kept, seq_len(given))) {
    found$x <- found$x[kept, , drop = FALSE]
    found$kept <- kept
    check_rows(found$x, what)
  }
  found$given <- given
  check_finite(found$x, what, found$missing, whole)
  found
}

passes <- function(na.action) {
  (is.function(na.action) || is.character(na.action)) && identical(match.fun(na.action), stats::na.pass)
}

# Whether a fit did without missing values.
did_without <- function(object) identical(object$options$missing, "observed")

# Rows with the mean in the place of a missing value, for pictures of them.
at_means <- function(object, x) {
  absent <- which(is.na(x), arr.ind = TRUE)
  if (nrow(absent)) x[absent] <- object$metric$center[absent[, 2L]]
  x
}

as_subset <- function(subset, x) {
  if (is.logical(subset) && length(subset) == nrow(x)) return(which(subset))
  if (is.character(subset) && !is.null(rownames(x))) subset <- match(subset, rownames(x))
  if (!is.numeric(subset) || anyNA(subset) || any(abs(subset) > nrow(x)) || anyDuplicated(subset)) {
    stop("subset must be TRUE or FALSE for each of the ", nrow(x), " rows, or numbers or names of ",
         "different rows", call. = FALSE)
  }
  seq_len(nrow(x))[subset]
}

# The rows that na.omit(), na.exclude() or another such function leaves out, as lm() keeps them.
omitted_rows <- function(x, na.action) {
  if (!is.function(na.action) && !is.character(na.action)) {
    stop("na.action must be a function such as na.omit, or its name", call. = FALSE)
  }
  attr(match.fun(na.action)(as.data.frame(x)), "na.action")
}

# The number of clusters, or starting centres, under the name that kmeans() has for it or as k.
number_of_clusters <- function(centers, k) {
  if (!missing(centers) && !missing(k)) {
    stop("centers and k are two names of the same argument: give one of them", call. = FALSE)
  }
  if (!missing(centers)) return(centers)
  if (missing(k)) stop("k is missing: give the number of clusters, as k or centers", call. = FALSE)
  k
}

# The numbers of clusters to try, under the name that Python has for them or one of the two of ewp().
numbers_to_try <- function(ks, centers, k, stated) {
  given <- c("ks", "centers", "k")[c(stated, !missing(centers), !missing(k))]
  if (length(given) > 1L) {
    stop(paste(given, collapse = " and "), " are names of the same argument: give one of them", call. = FALSE)
  }
  if (!missing(centers)) centers else if (!missing(k)) k else ks
}

# The call of a result. Data that stand in it themselves, as after do.call(), are described instead:
# they would be stored with every fit, and printed.
call_of <- function(name, call) {
  call[[1L]] <- as.name(name)
  for (i in seq_along(call)[-1L]) {
    value <- call[[i]]
    if (is.language(value) || utils::object.size(value) < 2000) next
    size <- if (is.null(dim(value))) length(value) else paste(dim(value), collapse = " x ")
    call[[i]] <- as.name(paste0("<", size, " ", class(value)[1L], ">"))
  }
  call
}

# The rows of a fit in data: those that were fitted, if these are all that were given, and checked
# to be the same.
fitted_rows <- function(object, x) {
  if (!inherits(object, "ewp")) {
    stop("object is not a fit made by ewp() but of class ", class(object)[1L], call. = FALSE)
  }
  if (missing(x)) stop("x is missing: give the data that were fitted", call. = FALSE)
  x <- rows_for(object, fitted_part(object, x), "x")
  if (nrow(x) != length(object$cluster)) {
    stop("x has ", counted(nrow(x), "row"), ", but the fit had ", length(object$cluster),
         call. = FALSE)
  }
  check_same_data(object, x)
  x
}

fitted_part <- function(object, data) {
  if (is.null(object$kept) || NROW(data) != object$given) return(data)
  if (is.null(dim(data))) data[object$kept] else data[object$kept, , drop = FALSE]
}

# Rows, or centres, as the columns that have weights: centred, scaled, and uncorrelated where the fit
# decorrelated them. Features that stay by themselves have no part in any of the axes.
columns_of <- function(object, rows) {
  if (!is_squared(object)) return(tangents(object, rows))
  metric <- object$metric
  z <- sweep(sweep(rows, 2L, metric$center), 2L, metric$scale, "/")
  made <- metric$decorrelation
  if (is.null(made)) return(z)
  alone <- rowSums(made$axes != 0) == 0
  rest <- if (length(made$roots) < sum(!alone)) 1 / sqrt(made$shrinkage) else 0
  along <- z %*% made$axes * rep(1 / made$roots - rest, each = nrow(z))
  found <- tcrossprod(along, made$axes) + rest * z
  found[, alone] <- z[, alone]
  dimnames(found) <- dimnames(z)
  found
}

# Variances of the columns that have weights.
column_variances <- function(object) {
  metric <- object$metric
  made <- metric$decorrelation
  if (is.null(made)) return((metric$sd / metric$scale)^2)
  if (made$shrinkage == 1) return(as.numeric(metric$sd > 0))
  values <- (made$roots^2 - made$shrinkage) / (1 - made$shrinkage)
  alone <- rowSums(made$axes != 0) == 0
  ifelse(alone, as.numeric(metric$sd > 0), drop(made$axes^2 %*% (values / made$roots^2)))
}

# More rows than this in other clusters than the fit has them, and the data are not those of the fit.
STRANGE <- 0.01

check_same_data <- function(object, x) {
  weight <- if (is.null(object$sample_weight)) rep(1, nrow(x)) else object$sample_weight
  sizes <- row_sizes(object, x, own = TRUE)
  if (!is.null(sizes)) weight <- weight * sizes
  x <- per_unit(x, sizes)
  means <- colSums(x * weight, na.rm = TRUE) / colSums((!is.na(x)) * weight)
  metric <- object$metric
  away <- abs(means - metric$center) > 1e-6 * pmax(metric$sd, abs(metric$center), 1e-300)
  advice <- "give the rows that were fitted, all of them and in the same order"
  if (any(away)) {
    first <- which(away)[1L]
    stop("x is not the data of the fit: the mean of ", colnames(x)[first], " is ",
         format(means[[first]], digits = 4L), ", in the fit it was ",
         format(metric$center[[first]], digits = 4L), "; ", advice, call. = FALSE)
  }
  nearest <- max.col(-squared_distances(object, x), ties.method = "first")
  strange <- mean(nearest != object$cluster)
  if (strange > STRANGE) {
    stop("x is not the data of the fit: ", format(100 * strange, digits = 2L),
         " % of its rows belong to other clusters; ", advice, call. = FALSE)
  }
}
