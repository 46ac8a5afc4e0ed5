test_that("ewp_select_lambda chooses as Python does, and its fit is the chosen one", {
  skip_without_python()
  x <- groups(60, 4)
  chosen <- ewp_select_lambda(x, 3, nlambda = 3, cv = 3, scale = FALSE, seed = 4)
  expect_s3_class(chosen, c("ewp_select_lambda", "list"), exact = TRUE)
  python <- in_python(x = x, c(
    "s = ewp.select_lambda(X, 3, n_lams=3, cv=3, scale=None, random_state=4)",
    "show('lambda', s.lam); show('mean', s.table['mean']); show('weights', s.results.weights)"
  ))
  expect_equal(chosen$lambda, python$lambda, tolerance = 1e-12)
  expect_equal(chosen$table$mean, python$mean, tolerance = 1e-10)
  expect_lt(max(abs(chosen$fit$weights - python$weights)), 1e-12)
  expect_equal(chosen$fit$lambda, chosen$lambda)
  expect_true(all(c("lambda", "lambda_per_row", "mean", "se") %in% names(chosen$table)))
  expect_identical(sum(is_chosen(chosen)), 1L)
  expect_identical(chosen$fit$selection$reason, chosen$reason)
  expect_output(print(chosen), "<- chosen")
  drawing(expect_invisible(plot(chosen)))
})

test_that("ewp_select_lambda takes penalties, a criterion and a rule", {
  skip_without_python()
  x <- groups(60, 4)
  chosen <- ewp_select_lambda(x, 3, lambda = c(2, 50), criterion = "stability", cv = 2, rule = "max",
                              scale = FALSE, dispersion = "within", seed = 4)
  expect_equal(chosen$table$lambda, c(2, 50))
  expect_identical(chosen$criterion, "stability")
})

test_that("ewp_select_lambda refuses what makes no sense", {
  expect_error(ewp_select_lambda(iris, 3), "Species")
  expect_error(ewp_select_lambda(numbers), "k is missing")
  expect_error(ewp_select_lambda(numbers, 3, lambda = -1), "lambda")
  expect_error(ewp_select_lambda(numbers, 3, lambda = "auto"), "lambda")
  expect_error(ewp_select_lambda(numbers, 3, criterion = "aic"), "criterion")
  expect_error(ewp_select_lambda(numbers, 3, cv = 1), "cv")
  expect_error(ewp_select_lambda(numbers, 3, rule = "best"), "rule")
  expect_error(ewp_select_lambda(numbers, 3, nlambda = 0), "nlambda")
  skip_without_python()
  expect_error(ewp_select_lambda(numbers, 3, wrong = 0), "unknown argument: wrong")
})

test_that("ewp_select_k finds the number of groups", {
  skip_without_python()
  x <- groups(60, 4)
  chosen <- ewp_select_k(x, 4:2, nlambda = 3, cv = 3, scale = FALSE, dispersion = "within", seed = 4)
  expect_s3_class(chosen, c("ewp_select_k", "list"), exact = TRUE)
  expect_identical(chosen$k, 3L)
  expect_identical(chosen$table$k, 2:4)
  expect_named(chosen$fits, c("2", "3", "4"))
  expect_identical(chosen$fit, chosen$fits[["3"]])
  expect_identical(length(chosen$fits[["4"]]$size), 4L)
  expect_output(print(chosen), "k = 3")
  drawing(expect_invisible(plot(chosen)))
})

test_that("ewp_select_k refuses what makes no sense", {
  expect_error(ewp_select_k(iris, 2:3), "Species")
  expect_error(ewp_select_k(numbers, "two"), "numbers of clusters")
  expect_error(ewp_select_k(numbers, c(2, 2.5)), "ks = 2.5")
  expect_error(ewp_select_k(numbers, 2:3, init = as.matrix(numbers[1:2, ])), "init")
})

test_that("selections, comparisons and grids take formulas", {
  skip_without_python()
  frame <- data.frame(groups(60, 4), group = rep(c("a", "b", "c"), 20))
  x <- groups(60, 4)
  options <- list(nlambda = 2, cv = 2, scale = FALSE, dispersion = "within", seed = 4)
  by_formula <- do.call(ewp_select_lambda, c(list(~ . - group, quote(frame), 3), options))
  plain <- do.call(ewp_select_lambda, c(list(quote(x), k = 3), options))
  expect_equal(by_formula$table, plain$table)
  expect_identical(predict(by_formula$fit, frame), by_formula$fit$cluster)
  expect_equal(do.call(ewp_select_k, c(list(~ . - group, quote(frame), k = 2:3), options))$table,
               do.call(ewp_select_k, c(list(quote(x), 2:3), options))$table)
  expect_equal(ewp_compare(~ . - group, frame, 3, lambda = 5, wbound = 1.4, seed = 6)$weights,
               ewp_compare(x, 3, lambda = 5, wbound = 1.4, seed = 6)$weights)
  expect_equal(ewp_lambda_path(~ . - group, frame, 3), ewp_lambda_path(x, 3))
  halves <- ewp_compare(~ . - group, frame, k = 2, truth = frame$group, lambda = 5, wbound = 1.4,
                        scale = FALSE, seed = 6, subset = group != "c")
  expect_identical(nrow(halves$clusters), 40L)
})

test_that("the grid of penalties and the critical exponent are Python's", {
  skip_without_python()
  x <- groups(60, 4)
  python <- in_python(x = x, c(
    "show('grid', ewp.lambda_path(X, 3, 5, scale='standard'))",
    "show('plain', ewp.critical_exponent(X)); show('own', ewp.critical_exponent(X, lam=5.0))",
    "show('weighted', ewp.critical_exponent(X, [1.0, 2, 0, 1]))"
  ))
  expect_equal(ewp_lambda_path(x, 3, nlambda = 5, scale = TRUE), python$grid)
  expect_equal(critical_exponent(x), python$plain)
  expect_equal(critical_exponent(x, lambda = 5), python$own)
  expect_equal(critical_exponent(x, weights = c(1, 2, 0, 1)), python$weighted)
  expect_error(critical_exponent(x, weights = 1), "4 columns")
})
