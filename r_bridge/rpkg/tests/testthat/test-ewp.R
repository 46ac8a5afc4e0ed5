test_that("a fit has the components of kmeans and its own, all plain R data", {
  fit <- iris_fit()
  expect_s3_class(fit, c("ewp", "kmeans"), exact = TRUE)
  expect_true(all(names(kmeans(numbers, 3)) %in% names(fit)))
  expect_identical(names(fit)[1:9], names(kmeans(numbers, 3)))
  wanted <- c("weights", "lambda", "s0", "objective", "trace", "call")
  expect_true(all(wanted %in% names(fit)))
  expect_type(fit$cluster, "integer")
  expect_setequal(fit$cluster, 1:3)
  expect_identical(dimnames(fit$centers), list(c("1", "2", "3"), names(numbers)))
  expect_named(fit$weights, names(numbers))
  expect_equal(sum(fit$weights), 1, tolerance = 1e-12)
  expect_identical(fit$size, as.integer(table(fit$cluster)))
  expect_identical(order(-fit$size), 1:3)
  expect_equal(fit$tot.withinss, sum(fit$withinss))
  expect_equal(fit$totss, fit$tot.withinss + fit$betweenss)
  expect_s3_class(fit$trace, "data.frame")
  expect_identical(fit$call[[1]], quote(ewp))
  holds_python <- function(value) {
    if (is.list(value)) any(vapply(value, holds_python, NA)) else is.environment(value)
  }
  expect_false(holds_python(unclass(fit)))
})

test_that("sums of squares are those of the weighted metric", {
  fit <- iris_fit()
  z <- sweep(as.matrix(numbers), 2, fit$metric$scale, "/")
  theta <- sweep(fit$centers, 2, fit$metric$scale, "/")
  squares <- drop(((z - theta[fit$cluster, ])^2) %*% fit$weights)
  expect_equal(fit$withinss, as.vector(tapply(squares, fit$cluster, sum)), tolerance = 1e-10)
  expect_equal(fit$totss, sum(t((t(z) - colMeans(z))^2) %*% fit$weights), tolerance = 1e-10)
  entropy <- sum(fit$weights * log(fit$weights))
  expect_equal(fit$objective, fit$tot.withinss + fit$lambda * entropy, tolerance = 1e-10)
})

test_that("the same data, seed and options give the same fit as Python", {
  skip_without_python()
  cases <- list(
    list(x = as.matrix(numbers), k = 3, lambda = 20, seed = 1,
         r = list(scale = TRUE), python = "scale='standard'"),
    list(x = groups(), k = 3, lambda = 5, seed = 11,
         r = list(nstart = 3, s0 = -2, eta = 1.1, polish = FALSE),
         python = "n_init=3, s0=-2.0, eta=1.1, polish=False"),
    list(x = groups(300, 12, 4), k = 4, lambda = 60, seed = 2^33,
         r = list(dispersion = "between", sample_weight = rep(1:3, 100), prior = 12:1, tol = 1e-6),
         python = "dispersion='between', sample_weight=np.tile([1.0, 2, 3], 100), prior=np.arange(12, 0, -1.0), tol=1e-6")
  )
  for (case in cases) {
    fit <- do.call(ewp, c(list(case$x, case$k, lambda = case$lambda, seed = case$seed), case$r))
    python <- in_python(x = case$x, sprintf(c(
      "r = ewp.fit(X, %1$d, %2$.17g, random_state=%3$.0f, %4$s)",
      "show('weights', r.weights); show('centers', r.centroids); show('cluster', r.labels)",
      "show('totss', r.totss); show('withinss', r.clusters['withinss']); show('objective', r.objective)",
      "show('trace', r.objective_trace['f_s'])"
    ), case$k, case$lambda, case$seed, case$python))
    expect_lt(max(abs(fit$weights - python$weights)), 1e-12)
    expect_lt(max(abs(as.vector(t(fit$centers)) - python$centers)), 1e-12)
    expect_equal(unname(fit$cluster), python$cluster + 1)
    expect_equal(fit$totss, python$totss, tolerance = 1e-12)
    expect_equal(fit$withinss, python$withinss, tolerance = 1e-12)
    expect_equal(fit$objective, python$objective, tolerance = 1e-12)
    expect_equal(fit$trace$f_s, python$trace, tolerance = 1e-12)
  }
})

test_that("defaults are those of the Python package", {
  skip_without_python()
  inspect <- reticulate::import("inspect", convert = FALSE)
  parameters <- inspect$signature(python()$EWP)$parameters
  default <- function(name) from_python(reticulate::py_get_item(parameters, name)$default)
  r <- c(as.list(formals(ewp.default)), as.list(formals(python_options)))
  expect_equal(r$s0, default("s0"))
  expect_equal(r$eta, default("eta"))
  expect_equal(r$lambda, default("lam"))
  expect_equal(r$nstart, default("n_init"))
  expect_equal(r$scale, default("scale"))
  expect_equal(r$dispersion, default("dispersion"))
  expect_equal(r$init, default("init"))
  expect_equal(r$polish, default("polish"))
  expect_equal(r$iter.max, default("max_iter"))
  expect_equal(r$tol, default("tol"))
})

test_that("matrix, data frame, tibble and formula give the same fit", {
  fit <- iris_fit()
  same <- function(other) {
    expect_identical(other$weights, fit$weights)
    expect_identical(other$cluster, fit$cluster)
    expect_identical(other$centers, fit$centers)
  }
  same(ewp(as.matrix(numbers), 3, lambda = 20, scale = TRUE, seed = 1))
  same(ewp(~ . - Species, data = iris, k = 3, lambda = 20, scale = TRUE, seed = 1))
  same(ewp(~ Sepal.Length + Sepal.Width + Petal.Length + Petal.Width, iris, 3, lambda = 20,
           scale = TRUE, seed = 1))
  if (requireNamespace("tibble", quietly = TRUE)) {
    same(ewp(tibble::as_tibble(numbers), 3, lambda = 20, scale = TRUE, seed = 1))
  }
})

test_that("what a formula drops may be anything, and new data need not have it", {
  fit <- iris_fit()
  frame <- cbind(iris, kind = "one", when = as.Date("2020-01-01"))
  dropped <- ewp(~ . - Species - kind - when, frame, 3, lambda = 20, scale = TRUE, seed = 1)
  expect_identical(dropped$weights, fit$weights)
  expect_identical(predict(dropped, numbers), dropped$cluster)
  expect_identical(predict(dropped, frame), dropped$cluster)
  expect_identical(ewp_refit(dropped, numbers)$weights, fit$weights)
  shifted <- ewp(~ . - Species - kind - when - 1, frame, 3, lambda = 20, scale = TRUE, seed = 1)
  expect_identical(shifted$weights, fit$weights)
  # what is computed from the data that were fitted stays as it was
  curved <- ewp(~ . - Species - kind - when - Sepal.Width + scale(Sepal.Width), frame, 3, lambda = 20, seed = 1,
                scale = TRUE)
  expect_identical(unname(predict(curved, frame[1:5, ])), unname(curved$cluster[1:5]))
})

test_that("a formula may transform columns and names what it cannot use", {
  skip_without_python()
  fit <- ewp(~ log(Sepal.Length) + Petal.Width, data = iris, k = 2, lambda = 5, scale = FALSE, seed = 1)
  expect_named(fit$weights, c("log(Sepal.Length)", "Petal.Width"))
  expect_identical(predict(fit, iris), fit$cluster)
  expect_error(ewp(Species ~ Petal.Width, data = iris, k = 2), "response")
  expect_error(ewp(~ Petal.Width + Species, data = iris, k = 2), "Species (factor)", fixed = TRUE)
  expect_error(ewp(~ 1, data = iris, k = 2), "no columns")
  expect_error(ewp(~ Petal.Width, data = "iris", k = 2), "data frame")
  expect_error(ewp(~ nonsense, data = iris, k = 2), "nonsense")
  broken <- iris
  broken[1, 1] <- NA
  expect_error(ewp(~ Sepal.Length, data = broken, k = 2), "Sepal.Length (1 row)", fixed = TRUE)
})

test_that("names of rows and columns are kept", {
  skip_without_python()
  x <- groups()
  fit <- ewp(x, 3, lambda = 5, seed = 1)
  expect_named(fit$cluster, rownames(x))
  expect_named(fit$weights, colnames(x))
  odd <- data.frame(`a b` = x[, 1], `if` = x[, 2], check.names = FALSE)
  expect_named(ewp(odd, 2, lambda = 5, seed = 1)$weights, c("a b", "if"))
})

test_that("set.seed governs a fit without a seed, as it does kmeans", {
  skip_without_python()
  x <- groups()
  set.seed(5)
  first <- ewp(x, 3, lambda = 5)
  set.seed(5)
  second <- ewp(x, 3, lambda = 5)
  expect_identical(first, second)
  expect_identical(ewp(x, 3, lambda = 5, seed = first$seed)$weights, first$weights)
})

test_that("k may be a matrix of starting centers", {
  skip_without_python()
  x <- groups()
  start <- x[1:3, ]
  fit <- ewp(x, start, lambda = 5, seed = 1)
  expect_identical(fit$options$init, "array")
  expect_identical(ewp(x, start[, ncol(x):1], lambda = 5, seed = 1)$weights, fit$weights)
  expect_identical(ewp(x, 3, lambda = 5, seed = 1, init = start)$weights, fit$weights)
  expect_error(ewp(x, start, lambda = 5, init = start), "leave init out")
  expect_error(ewp(x, start[, 1:2], lambda = 5), "init has 3 rows and 2 columns")
})

test_that("the penalty is chosen when it is left open, and the fit says how", {
  skip_without_python()
  fit <- ewp(groups(60, 4), 3, seed = 1)
  expect_gt(sum(fit$weights[1:2]), 0.9)
  expect_match(fit$selection$reason, "lambda = ")
  expect_equal(fit$selection$chosen$lambda, fit$lambda)
  expect_output(print(summary(fit)), "chosen by the predictive")
})

test_that("where rows are too few to choose, the fit and a warning say so", {
  skip_without_python()
  expect_warning(fit <- ewp(groups(4, 2), 3, scale = FALSE, dispersion = "within", seed = 1), "too few")
  expect_match(fit$selection$reason, "too few rows to choose")
})

test_that("bad input is refused before Python is touched", {
  local_function("python", function() stop("Python was touched"))
  expect_error(ewp(iris, 3), "Species")
  expect_error(ewp(replace(numbers, 1, NA), 3), "Sepal.Length")
  expect_error(ewp(numbers), "k is missing")
  expect_error(ewp(numbers, 2.5), "k = 2.5")
  expect_error(ewp(numbers, 0), "at least 1")
  expect_error(ewp(numbers, 3, lambda = -1), "lambda = -1")
  expect_error(ewp(numbers, 3, lambda = "best"), "lambda")
  expect_error(ewp(numbers, 3, lambda = NA), "lambda")
  expect_error(ewp(numbers, 3, seed = "x"), "seed")
  expect_error(ewp(numbers, 3, nstart = 0), "nstart")
  expect_error(ewp(numbers, 3, k = 3), "two names of the same argument")
  expect_error(ewp(numbers, 3, 10, 1, "auto", "auto", 1.05, "auto", 1, 1:9, NULL, 7), "without a name")
  expect_error(ewp("numbers", 3), "character")
})

test_that("what Python finds wrong is an R error, and its warnings are R warnings", {
  skip_without_python()
  expect_error(ewp(numbers[1:2, ], 3, lambda = 1), "k=3 exceeds the 2 distinct rows of x")
  expect_warning(fit <- ewp(numbers, 3, lambda = 20, scale = FALSE, iter.max = 1, nstart = 1,
                             seed = 1), "iter.max=1")
  expect_false(fit$converged)
  expect_identical(fit$ifault, 2L)
  expect_output(print(fit), "Not converged")
  expect_true(any(grepl("NOT CONVERGED", summary(fit)$notes)))
})

test_that("values far beyond the others are told with R's numbers of rows and columns", {
  skip_without_python()
  strange <- numbers
  strange[c(3, 20), 2] <- 9.96921e36
  expect_warning(
    ewp(strange, 3, lambda = 20, seed = 1),
    "column 2: 2 values of 9.96921e[+]36.* in rows 3, 20[.]"
  )
})

test_that("constant columns get no weight, and one column is enough", {
  skip_without_python()
  fit <- ewp(cbind(groups(), constant = 1), 3, lambda = 5, seed = 1)
  expect_identical(fit$weights[["constant"]], 0)
  expect_true(any(grepl("constant", summary(fit)$notes)))
  alone <- ewp(groups()[, 1], 3, lambda = 5, seed = 1)
  expect_equal(unname(alone$weights), 1)
  expect_identical(predict(alone, groups()[, 1]), alone$cluster)
})

test_that("centers, iter.max and nstart are understood as kmeans understands them", {
  skip_without_python()
  x <- groups()
  fit <- ewp(x, 3, lambda = 5, seed = 1)
  expect_identical(ewp(x, centers = 3, lambda = 5, seed = 1)$weights, fit$weights)
  expect_identical(ewp(x, k = 3, lambda = 5, seed = 1)$weights, fit$weights)
  expect_identical(ewp(~ ., as.data.frame(x), centers = 3, lambda = 5, seed = 1)$weights, fit$weights)
  # by position the third and the fourth are those of kmeans()
  expect_identical(names(formals(ewp.default))[1:4], names(formals(stats::kmeans))[1:4])
  short <- ewp(x, 3, 200, 2, seed = 1, dispersion = "within", scale = FALSE)
  expect_identical(short$options[c("iter.max", "nstart")], list(iter.max = 200L, nstart = 2L))
  expect_false(is.null(short$selection))
})

test_that("a number for lambda on columns of different scale is told, with what keeps the scaling", {
  skip_without_python()
  # variances that differ by a factor of 16 are not told, those in other units are
  expect_no_warning(ewp(numbers, 3, lambda = 20, seed = 1))
  units <- transform(numbers, Petal.Length = 10 * Petal.Length)
  expect_warning(raw <- ewp(units, 3, lambda = 20, seed = 1),
                 "Sepal.Width has 0.43, Petal.Length 18. scale = TRUE")
  expect_identical(raw$scaling, "none")
  expect_no_warning(same <- ewp(units, 3, lambda = 20, scale = FALSE, seed = 1))
  expect_identical(same$weights, raw$weights)
  expect_no_warning(ewp(units, 3, lambda = 20, scale = TRUE, seed = 1))
  expect_no_warning(ewp(scale(units), 3, lambda = 20, seed = 1))
  expect_warning(ewp_compare(units, 3, lambda = 20, wbound = 1.4, seed = 1), "scale = TRUE")
})

test_that("a fit again with another penalty keeps its scaling", {
  fit <- iris_fit()
  expect_no_warning(other <- ewp_refit(fit, numbers, lambda = 60))
  expect_identical(other$scaling, "standard")
  expect_identical(other$lambda, 60)
  expect_identical(names(other$cluster), names(fit$cluster))
  expect_identical(rownames(other$centers), rownames(fit$centers))
  expect_equal(ewp_refit(fit, numbers)$objective, fit$objective)
  expect_length(ewp_refit(fit, numbers, k = 4)$size, 4L)
  expect_error(ewp_refit(fit, numbers[1:20, ]), "20 rows, but the fit had 150")
})

test_that("a fit knows the call with which Python gives it again", {
  fit <- iris_fit()
  expect_match(fit$python$call, "ewp.fit(X, 3, lam=20.0", fixed = TRUE)
  again <- in_python(
    sprintf("results = %s\nshow('weights', results.weights)\nshow('labels', results.labels)",
            fit$python$call),
    as.matrix(numbers)
  )
  expect_identical(again$weights, unname(fit$weights))
  expect_identical(again$labels + 1, unname(as.double(fit$cluster)))
})

test_that("a fit through do.call describes its data and does not store them", {
  skip_without_python()
  x <- groups(2000, 6)
  fit <- do.call(ewp, list(x, 3, lambda = 100, seed = 1))
  expect_lt(length(capture.output(print(fit$call))), 5)
  expect_lt(as.numeric(object.size(fit$call)), 5000)
  expect_identical(fit$call[[1]], quote(ewp))
  expect_match(deparse(fit$call$x), "2000 x 6 matrix")
  resampled <- do.call(ewp_bootstrap, list(fit, x, n_boot = 2, n_jackknife = 0, seed = 1))
  expect_lt(as.numeric(object.size(resampled$call)), 5000)
  # others keep what was written
  expect_identical(ewp(x, 3, lambda = 100, seed = 1)$call$x, quote(x))
})

test_that("a fit can be updated", {
  skip_without_python()
  x <- groups()
  fit <- ewp(x, 3, lambda = 5, seed = 1)
  expect_identical(update(fit, lambda = 9)$weights, ewp(x, 3, lambda = 9, seed = 1)$weights)
})

test_that("subset and na.action choose rows as in lm", {
  skip_without_python()
  some <- iris$Species != "setosa"
  wanted <- ewp(numbers[some, ], 2, lambda = 20, scale = TRUE, seed = 1)
  by_formula <- ewp(~ . - Species, iris, 2, lambda = 20, scale = TRUE, seed = 1,
                    subset = Species != "setosa")
  expect_identical(by_formula$weights, wanted$weights)
  expect_identical(ewp(iris[1:4], 2, lambda = 20, scale = TRUE, seed = 1, subset = some)$weights,
                   wanted$weights)
  weight <- rep(1:2, 75)
  expect_identical(
    ewp(numbers, 2, lambda = 20, scale = TRUE, seed = 1, subset = 51:150, sample_weight = weight)$weights,
    ewp(numbers[51:150, ], 2, lambda = 20, scale = TRUE, seed = 1, sample_weight = weight[51:150])$weights
  )
  holes <- numbers
  holes[c(3, 70), 2] <- NA
  expect_error(ewp(holes, 3), "na.action = na.omit")
  whole <- ewp(numbers[-c(3, 70), ], 3, lambda = 20, scale = TRUE, seed = 1)
  omitted <- ewp(holes, 3, lambda = 20, scale = TRUE, seed = 1, na.action = na.omit)
  expect_identical(omitted$weights, whole$weights)
  expect_output(print(omitted), "2 observations deleted due to missingness")
  expect_identical(nobs(omitted), 148L)
  excluded <- ewp(~ ., holes, 3, lambda = 20, scale = TRUE, seed = 1, na.action = na.exclude)
  expect_identical(which(is.na(predict(excluded))), c(3L, 70L), ignore_attr = TRUE)
  expect_identical(dim(fitted(excluded)), c(150L, 4L))
  expect_s3_class(ewp_bootstrap(omitted, holes, n_boot = 40, n_jackknife = 0, seed = 1), "ewp_bootstrap")
  expect_error(ewp(numbers, 3, subset = 200), "subset must be")
  expect_error(ewp(numbers, 3, na.action = 7), "na.action")
})

test_that("options that only Python knows are handed on, and others are refused", {
  skip_without_python()
  f <- python()$fit
  expect_silent(check_known(f, list(lam = 1, random_state = 1L)))
  expect_error(check_known(f, list(wrong = 1)), "unknown argument: wrong")
  expect_error(ewp(groups(), 3, lambda = 5, wrong = 1), "unknown argument: wrong; the options are k")
})
