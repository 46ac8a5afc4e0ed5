test_that("tidy, glance and augment have the columns of broom and of the Python package", {
  skip_if_not_installed("generics")
  fit <- iris_fit()
  tidied <- generics::tidy(fit)
  expect_named(tidied, c(names(numbers), "size", "withinss", "cluster"))
  expect_equal(tidied$size, fit$size)
  glanced <- generics::glance(fit)
  expect_identical(nrow(glanced), 1L)
  augmented <- generics::augment(fit, iris)
  expect_named(augmented, c(names(iris), ".cluster", ".distance"))
  expect_equal(as.integer(augmented$.cluster), fit$cluster)
  expect_equal(sum(augmented$.distance^2), fit$tot.withinss, tolerance = 1e-10)
  results <- as_results(fit, as_data_matrix(numbers))
  columns <- function(frame) from_python(frame$columns$tolist())
  expect_identical(names(tidied), columns(results$tidy()))
  # broom writes dots where Python has underscores
  own <- gsub("_", ".", columns(results$glance()), fixed = TRUE)
  expect_identical(names(glanced), sub("^lam$", "lambda", own))
  expect_identical(glanced$n.obs, 150L)
})

test_that("statistics that share a column's name get a dot, and row names a column", {
  skip_if_not_installed("generics")
  skip_without_python()
  x <- groups()
  colnames(x)[1] <- "size"
  fit <- ewp(x, 3, lambda = 5, seed = 1)
  expect_true(all(c("size", ".size") %in% names(generics::tidy(fit))))
  expect_identical(generics::augment(fit, x)$.rownames, rownames(x))
})

test_that("augment says what it needs", {
  skip_if_not_installed("generics")
  fit <- iris_fit()
  expect_error(generics::augment(fit), "data is missing")
  expect_error(generics::augment(fit, iris[, 1:2]), "lacks")
  expect_error(generics::augment(fit, cbind(iris, .cluster = 1)), ".cluster")
})

test_that("augment takes new rows", {
  skip_if_not_installed("generics")
  fit <- iris_fit()
  new <- generics::augment(fit, newdata = iris[c(150, 1), ])
  expect_identical(as.integer(new$.cluster), fit$cluster[c(150, 1)])
  expect_error(generics::augment(fit, newdata = iris[, 1:2]), "newdata lacks 2 columns")
})
