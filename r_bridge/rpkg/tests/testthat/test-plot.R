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
