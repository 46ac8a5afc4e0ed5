test_that("ewp_profile has the means and standard deviations of the clusters", {
  fit <- iris_fit()
  found <- ewp_profile(fit, iris)
  expect_s3_class(found, c("ewp_profile", "list"), exact = TRUE)
  table <- found$table
  expect_identical(table$feature, names(sort(fit$weights, decreasing = TRUE)))
  for (j in 1:3) {
    own <- numbers[fit$cluster == j, table$feature]
    expect_equal(table[[paste0("mean_", j)]], unname(colMeans(own)))
    expect_equal(table[[paste0("sd_", j)]], unname(vapply(own, sd, 0)))
  }
  expect_equal(table$sd, unname(vapply(numbers[table$feature], sd, 0)))
  # the largest standardised difference, and of which clusters
  pairs <- utils::combn(3, 2)
  one <- table[1, ]
  differences <- apply(pairs, 2, function(p) {
    gap <- one[[paste0("mean_", p[1])]] - one[[paste0("mean_", p[2])]]
    abs(gap) / sqrt((one[[paste0("sd_", p[1])]]^2 + one[[paste0("sd_", p[2])]]^2) / 2)
  })
  expect_equal(one$difference, max(differences))
  expect_identical(one$between, paste(pairs[, which.max(differences)], collapse = ", "))
  expect_identical(found$clusters$size, fit$size)
  expect_equal(found$clusters$share, fit$size / 150)
  expect_false(found$weighted)
  shown <- capture.output(print(found))
  expect_match(shown, sprintf("Petal.Width +1.20 [(]0.76[)] .*%.2f [(]%s[)]", one$difference,
                              sub(", ", " vs ", one$between)), all = FALSE)
  expect_match(paste(shown, collapse = " "), "these differences describe, they +test +nothing")
  expect_output(print(found, top = 2), "2 columns more are not listed.", fixed = TRUE)
  expect_identical(unserialize(serialize(found, NULL)), found)
})

test_that("values of columns with few of them are counted, weights too", {
  skip_without_python()
  x <- cbind(groups(90, 2), late = rep(0:1, 45), kind = rep(1:3, 30))
  weight <- rep(c(1, 2, 3), each = 30)
  fit <- ewp(x, 3, lambda = 5, scale = FALSE, seed = 1, sample_weight = weight)
  table <- ewp_profile(fit, x)$table
  late <- table[table$feature == "late", ]
  expect_identical(late$statistic, "count")
  expect_equal(late$value, 1)
  expect_equal(late$count, sum(weight[x[, "late"] == 1]))
  expect_equal(late$count_2, sum(weight[x[, "late"] == 1 & fit$cluster == 2]))
  found <- ewp_profile(fit, x, counted = "kind")
  expect_equal(found$table$value[found$table$feature == "kind"], 1:3)
  expect_identical(found$table$statistic[found$table$feature == "late"], "mean")
  expect_true(found$weighted)
  expect_output(print(found), "kind = 2", fixed = TRUE)
  expect_output(print(found), "Rows are weighted")
  expect_false("count" %in% ewp_profile(fit, x, counted = character())$table$statistic)
  expect_error(ewp_profile(fit, x, counted = "age"), "counted: no column is called age")
  expect_error(ewp_profile(fit, x, counted = "v1"), "at most 20 are counted")
  expect_error(ewp_profile(fit, x + 1), "not the data of the fit")
})

test_that("tidy and glance of a profile have a line per cluster, and one", {
  skip_if_not_installed("generics")
  found <- ewp_profile(iris_fit(), iris)
  tidied <- generics::tidy(found)
  expect_named(tidied, c("term", "statistic", "value", "cluster", "mean", "sd", "count"))
  expect_identical(nrow(tidied), 12L)
  expect_equal(tidied$mean[tidied$cluster == "2"], found$table$mean_2)
  glanced <- generics::glance(found)
  expect_identical(glanced$n.obs, 150L)
  expect_equal(glanced$max.difference, max(found$table$difference))
})
