test_that("print shows what print does for kmeans", {
  fit <- iris_fit()
  shown <- capture.output(print(fit))
  expect_match(shown[1], "EWP clustering with 3 clusters of sizes 52, 50, 48")
  for (heading in c("Cluster means:", "Feature weights:", "Clustering vector:", "Available components:")) {
    expect_true(heading %in% shown)
  }
  expect_true(any(grepl("between_SS / total_SS =  9[0-9][.][0-9] %", shown)))
  capture.output(expect_invisible(print(fit)))
  wide <- ewp(groups(90, 15), 3, lambda = 5, seed = 1)
  expect_output(print(wide), "The 10 heaviest of 15 feature weights")
})

test_that("summary holds tables and prints them", {
  fit <- iris_fit()
  about <- summary(fit)
  expect_s3_class(about, "summary.ewp")
  expect_identical(rownames(about$features)[1], names(which.max(fit$weights)))
  expect_equal(about$clusters$size, fit$size)
  expect_equal(sum(about$clusters$share), 1)
  expect_equal(sum(about$phases), fit$iter)
  aov_share <- function(x) summary(stats::lm(x ~ factor(fit$cluster)))$r.squared
  expect_equal(about$features["Petal.Width", "explained"], aov_share(iris$Petal.Width))
  expect_output(print(about), "effective features")
  expect_identical(nrow(summary(fit, top = 2)$features), 2L)
  expect_error(summary(fit, top = 0), "top")
})

test_that("coef and fitted are as for kmeans", {
  fit <- iris_fit()
  expect_identical(coef(fit), fit$weights)
  expect_identical(fitted(fit, "classes"), fit$cluster)
  expect_identical(fitted(fit), fit$centers[fit$cluster, ])
  expect_equal(fitted(kmeans(numbers, fit$centers)), fitted(kmeans(numbers, fit$centers), "centers"))
  expect_error(fitted(fit, "nothing"), "should be one of")
})

test_that("predictions are Python's, for new rows and for the fitted ones", {
  fit <- iris_fit()
  expect_identical(predict(fit), fit$cluster)
  expect_identical(predict(fit, numbers), fit$cluster)
  set.seed(1)
  new <- as.matrix(numbers) + rnorm(600, sd = 0.5)
  python <- in_python(x = rbind(as.matrix(numbers), new), c(
    "r = ewp.fit(X[:150], 3, 20.0, scale='standard', random_state=1)",
    "show('labels', r.predict(X[150:])); show('distances', r.transform(X[150:]))"
  ))
  expect_equal(predict(fit, new), python$labels + 1)
  expect_equal(as.vector(t(predict(fit, new, "distance"))), python$distances, tolerance = 1e-8)
})

test_that("columns of new data are found by name", {
  fit <- iris_fit()
  expect_identical(predict(fit, iris[, 5:1]), fit$cluster)
  expect_identical(predict(fit, unname(as.matrix(numbers))), fit$cluster)
  expect_identical(predict(fit, as.matrix(numbers)[1, ]), fit$cluster[1])
  expect_named(predict(fit, data.frame(numbers, row.names = paste0("r", 1:150)))[1:2], c("r1", "r2"))
  expect_error(predict(fit, numbers[, 1:3]), "lacks 1 column of the fit: Petal.Width")
  expect_error(predict(fit, unname(as.matrix(numbers))[, 1:3]), "3 columns, but the fit had 4")
  expect_error(predict(fit, replace(numbers, 2, NA)), "Sepal.Width")
  expect_error(predict(fit, type = "distance"), "newdata")
  expect_error(predict(fit, numbers, type = "nothing"), "should be one of")
})

test_that("a saved fit predicts, prints and plots in a fresh R process without Python", {
  fit <- iris_fit()
  by_formula <- ewp(~ log(Sepal.Length) + Petal.Width, data = iris, k = 2, lambda = 5, scale = FALSE, seed = 1)
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE))
  saveRDS(list(fit, by_formula), file.path(folder, "fits.rds"))
  told <- in_fresh_r(env = "RETICULATE_PYTHON=/no/python/here", c(
    sprintf("fits <- readRDS(%s)", encodeString(file.path(folder, "fits.rds"), quote = "'")),
    "library(ewp)",
    "grDevices::pdf(NULL)",
    "plot(fits[[1]]); plot(fits[[1]], 'trace'); plot(fits[[1]], 'clusters', data = iris)",
    "invisible(capture.output(print(fits[[1]]), print(summary(fits[[1]]))))",
    "for (fit in fits) stopifnot(identical(predict(fit, iris), fit$cluster))",
    "cat('python running:', reticulate::py_available(), '\\n')",
    "cat('done\\n')"
  ))
  expect_true("done" %in% told, info = told)
  expect_true("python running: FALSE " %in% told, info = told)
})

test_that("the summary says how many starts found the best objective", {
  skip_without_python()
  fit <- ewp(iris[, 1:4], 3, lambda = 45, scale = TRUE, seed = 1)
  expect_equal(nrow(fit$starts), length(unique(fit$starts$objective)))
  expect_lte(fit$starts$starts[1], fit$n.starts)
  expect_match(paste(summary(fit)$notes, collapse = " "),
               sprintf("found by %d of %d starts", fit$starts$starts[1], fit$n.starts))
})
