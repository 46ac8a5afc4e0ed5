# What the R package adds to a fit in Python: ewp() timed from outside and inside, in one call.
#
#     RETICULATE_PYTHON=.venv-r/bin/python Rscript validation/benchmarks/rpkg_overhead.R [repetitions]
#
# For n = 20,000 rows and p = 50 columns, and for iris. Outside is everything from the R matrix to the R object;
# inside is the Python function alone, whose array is there already and whose results stay there.
# Both are times of the same call, so that both meet the same machine.

library(ewp)

given <- commandArgs(trailingOnly = TRUE)
repetitions <- if (length(given)) as.integer(given[1]) else 15L

python <- reticulate::py_run_string("
import time, ewp
fit = ewp.fit
def timed(*args, **options):
    clock, cpu = time.perf_counter(), time.process_time()
    found = fit(*args, **options)
    timed.last = time.perf_counter() - clock, time.process_time() - cpu
    return found
ewp.fit = timed
")

measure <- function(name, x, k, ...) {
  times <- NULL
  for (repetition in seq_len(repetitions + 1L)) {
    outside <- system.time(fit <- ewp(x, k, ..., seed = 1))
    inside <- unlist(python$timed$last)
    row <- data.frame(
      clock = outside[["elapsed"]], clock_inside = inside[1],
      cpu = outside[["user.self"]] + outside[["sys.self"]], cpu_inside = inside[2]
    )
    # The first round starts everything up.
    if (repetition > 1L) times <- rbind(times, row)
  }
  cat(sprintf("%s, n = %d, p = %d, k = %d: %d steps; %d repetitions, medians:\n", name, nrow(x),
              ncol(x), k, fit$iter, repetitions))
  for (kind in c("clock", "cpu")) {
    inside <- times[[paste0(kind, "_inside")]]
    added <- times[[kind]] - inside
    cat(sprintf("%-5s  fit %.1f ms, added by the package %.1f ms: %.1f %% of the fit (largest %.1f %%)\n",
                kind, 1000 * median(inside), 1000 * median(added), 100 * median(added / inside),
                100 * max(added / inside)))
  }
}

n <- 20000
p <- 50
k <- 10
set.seed(1)
x <- matrix(rnorm(n * p), n, p)
x[, 1:10] <- x[, 1:10] * 0.3 + matrix(rnorm(10 * k, sd = 0.4), k)[sample(k, n, TRUE), ]

measure("simulated rows", x, k, lambda = 0.3 * n)
measure("iris", iris[, 1:4], 3L, lambda = 20, scale = TRUE)
