test_that("matrices, data frames and vectors become plain named matrices", {
  expect_equal(as_data_matrix(numbers), as.matrix(numbers), ignore_attr = "dimnames")
  expect_null(rownames(as_data_matrix(numbers)))
  expect_equal(rownames(as_data_matrix(mtcars)), rownames(mtcars))
  expect_equal(colnames(as_data_matrix(unname(as.matrix(numbers)))), paste0("x", 1:4))
  expect_equal(dim(as_data_matrix(c(a = 1, b = 2))), c(2L, 1L))
  expect_equal(rownames(as_data_matrix(c(a = 1, b = 2))), c("a", "b"))
  whole <- as_data_matrix(data.frame(a = 1:3, b = c(TRUE, FALSE, TRUE)))
  expect_type(whole, "double")
  expect_equal(unname(whole[, "b"]), c(1, 0, 1))
  expect_equal(names(attributes(as_data_matrix(scale(numbers)))), c("dim", "dimnames"))
})

test_that("columns that are not numeric are named with their class", {
  mixed <- data.frame(a = 1:3, f = factor(1:3), s = letters[1:3], d = Sys.Date() + 1:3)
  expect_error(as_data_matrix(mixed), "3 columns that are not numeric: f (factor), s (character), d (Date)",
               fixed = TRUE)
  expect_error(as_data_matrix(iris), "Species (factor)", fixed = TRUE)
  expect_error(as_data_matrix(matrix(letters[1:4], 2)), "character matrix")
  expect_error(as_data_matrix(factor(1:3)), "factor")
  expect_error(as_data_matrix(NULL), "NULL")
  expect_error(as_data_matrix(dist(numbers)), "distance")
  expect_error(as_data_matrix(array(0, c(2, 2, 2))), "3 dimensions")
  expect_error(as_data_matrix(numbers[0, ]), "0 rows")
})

test_that("missing and infinite values are named by column and counted", {
  broken <- numbers
  broken[3, 2] <- NA
  broken[5:6, 4] <- NaN
  expect_error(as_data_matrix(broken), "Sepal.Width (1 row), Petal.Width (2 rows)", fixed = TRUE)
  broken <- as.matrix(numbers)
  broken[1, 1] <- -Inf
  expect_error(as_data_matrix(broken), "infinite values in 1 column: Sepal.Length")
  expect_error(as_data_matrix(data.frame(a = c(1L, NA))), "na.action = na.omit")
})

test_that("whole numbers may be written as doubles, and nothing else passes for one", {
  expect_identical(as_count(3, "k"), 3L)
  expect_identical(as_count(3L, "k"), 3L)
  for (value in list(2.5, "3", NA, NULL, c(2, 3), Inf)) expect_error(as_count(value, "k"), "k = ")
  expect_error(as_count(0, "k"), "at least 1")
})

test_that("a seed is a whole number, or drawn from R's generator", {
  expect_identical(as_seed(7), 7L)
  expect_identical(as_seed(2^40), 2^40)
  for (value in list(-1, 1.5, "a", NA, 1:2)) expect_error(as_seed(value), "seed")
  set.seed(3)
  first <- as_seed(NULL)
  set.seed(3)
  expect_identical(as_seed(NULL), first)
})

test_that("scaling can be said in R's way and in Python's", {
  expect_identical(as_scaling(TRUE), "standard")
  expect_null(as_scaling(FALSE))
  expect_null(as_scaling(NULL))
  expect_null(as_scaling("none"))
  expect_identical(as_scaling("auto"), "auto")
  expect_error(as_scaling("robust"), "scale")
})

test_that("options out of range are errors that name them", {
  x <- as_data_matrix(numbers)
  options <- function(...) python_options(list(x = x), 3, ...)
  expect_error(options(eta = 1), "eta = 1 must be finite and above 1")
  expect_error(options(s0 = 1), "s0")
  expect_error(options(tol = 0), "tol")
  expect_error(options(nstart = 0), "nstart")
  expect_error(options(iter.max = 0), "iter.max")
  expect_error(options(polish = NA), "polish")
  expect_error(options(dispersion = "x"), "dispersion")
  expect_error(options(init = "x"), "init")
  expect_error(options(init = x[1:2, ]), "init has 2 rows")
  expect_error(options(prior = 1:3), "prior")
  expect_error(options(prior = c(a = 1, b = 1, c = 1, d = 1)), "no entry for Sepal.Length")
  expect_error(options(sample_weight = 1:3), "sample_weight")
  expect_error(options(sample_weight = rep(-1, 150)), "sample_weight")
  expect_error(options(n_jobs = 0), "n_jobs")
  expect_error(options(n_init = 3), "n_init is called nstart in R")
  expect_error(refuse_unnamed(a = 1, 3), "1 argument too many without a name")
  expect_identical(options(s0 = -Inf)$s0, -Inf)
  named <- options(prior = c(Petal.Width = 4, Petal.Length = 3, Sepal.Width = 2, Sepal.Length = 1))
  expect_equal(as.vector(named$prior), c(1, 2, 3, 4))
})

test_that("messages from Python speak R", {
  error <- simpleError("ValueError: n_clusters=1 and lam=None for X\n\nDetailed traceback:\n  File x\n")
  expect_equal(python_message(error), "k=1 and lambda=NULL for x")
  newer <- simpleError("ValueError: max_iter=0\nRun `reticulate::py_last_error()` for details.")
  expect_equal(python_message(newer), "iter.max=0")
})
