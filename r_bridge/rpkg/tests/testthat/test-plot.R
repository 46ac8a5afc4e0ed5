test_that("all pictures of a fit can be drawn and leave the device as it was", {
  fit <- iris_fit()
  drawing({
    before <- par(no.readonly = TRUE)
    for (which in c("weights", "trace", "clusters")) expect_invisible(plot(fit, which, data = iris))
    plot(fit, "clusters", data = iris, features = c("Sepal.Width", "Petal.Width"), main = "title")
    plot(fit, "clusters", data = iris, features = "Petal.Width")
    expect_equal(par(no.readonly = TRUE)[c("mar", "mfrow")], before[c("mar", "mfrow")])
  })
})

test_that("pictures work for one column, for many, and for many clusters", {
  skip_without_python()
  drawing({
    alone <- ewp(groups()[, 1], 3, lambda = 5, seed = 1)
    for (which in c("weights", "trace", "clusters")) plot(alone, which, data = groups()[, 1])
    wide <- groups(90, 60)
    colnames(wide)[1] <- strrep("a long name ", 8)
    plot(ewp(wide, 12, lambda = 5, seed = 1), "clusters", data = wide)
    plot(ewp(wide, 3, lambda = 5, seed = 1), top = 10)
  })
  expect_true(TRUE)
})

test_that("a phase reaches from the step that begins it to the one that begins the next", {
  trace <- data.frame(iteration = 0:4, phase = c("anneal", "finish", "finish", "polish", "polish"))
  bands <- phase_bands(trace, -0.2, 4.2)
  expect_identical(bands$phase, c("anneal", "finish", "polish"))
  expect_equal(bands$start, c(-0.2, 1, 3))
  expect_equal(bands$end, c(1, 3, 4.2))
  expect_identical(nrow(phase_bands(trace[1, ], 0, 1)), 0L)
})

test_that("what cannot be drawn is said", {
  fit <- iris_fit()
  drawing({
    expect_error(plot(fit, "clusters"), "data is missing")
    expect_error(plot(fit, "nothing"), "should be one of")
    expect_error(plot(fit, "clusters", data = iris, features = "colour"), "colour")
    expect_error(plot(fit, "clusters", data = iris, features = names(numbers)), "one or two")
    expect_error(plot(fit, top = 0), "top")
  })
})

test_that("graphical parameters take the place of the defaults", {
  fit <- iris_fit()
  x <- scale(numbers)
  drawing({
    plot(fit, xlim = c(0, 0.9), ylim = c(0, 6), cex = 0.7, col = "red", xlab = "share", main = "m")
    expect_equal(par("usr")[1:2], c(0, 0.9), tolerance = 0.1)
    for (which in c("trace", "clusters")) {
      plot(fit, which, data = iris, xlim = c(0, 5), ylim = c(-1, 4), cex = 2, col = "red", pch = 3,
           xlab = "across", ylab = "up", main = "m", las = 0, bty = "o")
      expect_equal(par("usr"), c(-0.2, 5.2, -1.2, 4.2))
    }
    plot(fit, "clusters", data = iris, col = c("red", "blue", "black"))
    plot(fit, "clusters", data = iris, col = as.integer(iris$Species), pch = as.integer(iris$Species))
    expect_invisible(plot(as_sparcl(fit)))
    expect_invisible(plot(as_sparcl(fit), col = "red", xlim = c(0, 2), cex = 0.8))
    resampled <- ewp_bootstrap(fit, iris, n_boot = 40, n_jackknife = 0, seed = 1)
    plot(resampled, col = "red", xlim = c(0, 1), xlab = "w", cex = 0.7)
    grown <- ewp_consistency(fit, iris, sizes = c(30, 60), n_rep = 2, seed = 1)
    plot(grown, xlim = c(10, 500), ylim = c(1e-3, 10), cex = 2, col = c("red", "blue"), xlab = "n")
    chosen <- ewp_select_lambda(numbers, 3, nlambda = 3, cv = 2, scale = TRUE, seed = 1)
    plot(chosen, ylim = c(-5, 5), cex = 2, col = "red", xlab = "penalty")
    several <- ewp_select_k(numbers, 2:3, nlambda = 2, cv = 2, scale = TRUE, seed = 1)
    plot(several, ylim = c(-5, 5), cex = 2, col = "red", xlim = c(1, 4))
    expect_equal(par("usr"), c(0.88, 4.12, -5.4, 5.4))
    compared <- ewp_compare(numbers, 3, lambda = 20, scale = TRUE, wbound = 1.4, seed = 1)
    plot(compared, xlim = c(0, 1), col = c("red", "blue"), cex = 0.7, xlab = "share")
  })
})

test_that("autoplot draws all results with ggplot2", {
  skip_if_not_installed("ggplot2")
  fit <- iris_fit()
  found <- list(
    fit, ewp_bootstrap(fit, iris, n_boot = 40, n_jackknife = 0, seed = 1),
    ewp_consistency(fit, iris, sizes = c(30, 60), n_rep = 2, seed = 1),
    ewp_stability(fit, iris, n_boot = 3, seed = 1), ewp_test_features(fit, iris, seed = 1),
    ewp_select_lambda(numbers, 3, nlambda = 2, cv = 2, scale = TRUE, seed = 1),
    ewp_select_k(numbers, 2:3, nlambda = 2, cv = 2, scale = TRUE, seed = 1),
    ewp_compare(numbers, 3, lambda = 20, scale = TRUE, wbound = 1.4, seed = 1),
    ewp_compare(numbers, 3, lambda = 20, scale = TRUE, methods = c("kmeans", "ewp"), n_trials = 2, seed = 1)
  )
  pictures <- c(
    lapply(found, ggplot2::autoplot),
    list(ggplot2::autoplot(fit, "trace"), ggplot2::autoplot(fit, "clusters", data = iris))
  )
  drawing(for (picture in pictures) {
    expect_s3_class(picture, "ggplot")
    expect_gt(length(ggplot2::ggplot_build(picture)$data), 0)
  })
  expect_error(ggplot2::autoplot(fit, "clusters"), "data is missing")
})

test_that("fviz_cluster of factoextra takes a fit as it takes one of kmeans", {
  skip_if_not_installed("factoextra")
  fit <- iris_fit()
  picture <- factoextra::fviz_cluster(fit, data = numbers)
  expect_s3_class(picture, "ggplot")
  expect_identical(as.integer(as.character(picture$data$cluster)), fit$cluster)
})

test_that("a fit that begins where it ends has a picture of its trace", {
  fit <- iris_fit()
  fit$trace <- utils::tail(fit$trace, 1L)
  grDevices::pdf(NULL)
  on.exit(grDevices::dev.off())
  expect_silent(plot(fit, "trace"))
})
