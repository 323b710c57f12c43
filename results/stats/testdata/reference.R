# Reference values for results/stats, made with base R:
#   Rscript reference.R > reference-r.json
# Every value comes from a function of R or from an enumeration written here; none
# comes from harnessbench. Numbers have 15 digits.
num <- function(x) paste0("[", paste(sprintf("%.15g", x), collapse = ","), "]")
out <- c()
add <- function(name, ...) out <<- c(out, sprintf('"%s": {%s}', name, paste(..., sep = ", ")))
f <- function(key, x) sprintf('"%s": %s', key, if (length(x) == 1) sprintf("%.15g", x) else num(x))

d <- c(0.2, -0.4, 0, 0.6, 0.2, 0.2, -0.2, 0.8, 0, 0.4, 0.2, 0.6)
t <- t.test(d)
# all 2^12 assignments of signs
signs <- as.matrix(expand.grid(rep(list(c(-1, 1)), length(d))))
sums <- abs(signs %*% d)
add("paired", f("diffs", d), f("mean", unname(t$estimate)), f("lo", t$conf.int[1]), f("hi", t$conf.int[2]),
    f("p_t", t$p.value), f("p_sign_flip", mean(sums >= abs(sum(d)) - 1e-9)))
add("mcnemar", f("a_only", c(1, 0, 3, 10, 5)), f("b_only", c(8, 5, 3, 25, 6)),
    f("p", mapply(function(a, b) binom.test(a, a + b)$p.value, c(1, 0, 3, 10, 5), c(8, 5, 3, 25, 6))))
p <- c(0.01, 0.04, 0.03, 0.005, 0.5, 0.03, 1, 0.2)
add("adjust", f("p", p), f("holm", p.adjust(p, "holm")), f("bh", p.adjust(p, "BH")))

# F quantiles, as the interval of the intra-class correlation needs them
d1 <- c(1, 2, 5, 9, 49, 99); d2 <- c(1, 7, 24, 40, 150, 400)
add("f_quantiles", f("d1", d1), f("d2", d2), f("lo", qf(0.025, d1, d2)), f("hi", qf(0.975, d1, d2)))

# Non-inferiority and equivalence (two one-sided tests): by t.test, and by Tango's
# score with the likelihood maximised by optimize(), on what the spread of the
# scenarios is worth in pairs; the larger p of the two.
np <- c(5, 5, 5, 4, 5, 5, 3, 5, 5, 5, 5, 5); ao <- c(1, 0, 2, 1, 0, 1, 0, 1, 0, 2, 0, 1); bo <- c(1, 1, 1, 0, 0, 2, 1, 1, 0, 1, 1, 0)
both <- c(1, 2, 1, 2, 3, 1, 1, 1, 2, 1, 2, 2) # pass rates within 0.2..0.8: worth at most all pairs
dm <- (bo - ao) / np; k <- length(dm); margin <- 0.2
pb <- mean(bo / np); pa <- mean(ao / np)
ne <- min((pa + pb - mean(dm)^2) / (var(dm) / k) * (qnorm(0.975) / qt(0.975, k - 1))^2, sum(np))
tango <- function(delta) {
  ll <- function(q) ne * (pb * log(q + delta) + pa * log(q) + (1 - pa - pb) * log(1 - 2 * q - delta))
  q <- optimize(ll, c(max(0, -delta) + 1e-9, (1 - delta) / 2 - 1e-9), maximum = TRUE, tol = 1e-12)$maximum
  (mean(dm) - delta) * sqrt(ne) / sqrt(2 * q + delta - delta^2)
}
p_more <- max(t.test(dm, mu = -margin, alternative = "greater")$p.value, pnorm(-tango(-margin)))
p_less <- max(t.test(dm, mu = margin, alternative = "less")$p.value, pnorm(tango(margin)))
add("margin", f("n", np), f("a_only", ao), f("b_only", bo), f("both", both), f("margin", margin), f("p_noninferior", p_more), f("p_equivalent", max(p_more, p_less)))

# One-way analysis of variance, unequal groups; ICC and Searle's interval from its mean squares
passed <- c(4, 3, 0, 1, 2, 5, 0); graded <- c(5, 4, 5, 5, 3, 5, 4)
y <- unlist(mapply(function(p, g) c(rep(1, p), rep(0, g - p)), passed, graded))
g <- factor(rep(seq_along(graded), graded))
a <- anova(lm(y ~ g)); msb <- a[1, 3]; msw <- a[2, 3]
n0 <- (sum(graded) - sum(graded^2) / sum(graded)) / (length(graded) - 1)
fr <- msb / msw; df <- a$Df
fl <- fr / qf(0.975, df[1], df[2]); fu <- fr / qf(0.025, df[1], df[2])
add("icc", f("passed", passed), f("graded", graded), f("icc", (msb - msw) / (msb + (n0 - 1) * msw)),
    f("lo", (fl - 1) / (fl + n0 - 1)), f("hi", (fu - 1) / (fu + n0 - 1)))

# Fieller: the ratios r at which t.test(y - r x) gives p = 0.05, found by uniroot
x <- c(3, 5, 0, 4, 2, 5, 1, 4, 3, 5); yc <- c(0.4, 0.3, 0.5, 0.45, 0.62, 0.31, 0.77, 0.5, 0.41, 0.29)
g5 <- function(r) t.test(yc - r * x)$p.value - 0.05
r <- sum(yc) / sum(x)
add("fieller", f("x", x), f("y", yc), f("ratio", r), f("lo", uniroot(g5, c(r / 10, r), tol = 1e-13)$root), f("hi", uniroot(g5, c(r, r * 10), tol = 1e-13)$root))

# The 2^(5-1) reactor example's effects by lm on coded levels: Box, Hunter and Hunter,
# "Statistics for Experimenters", 2nd edition, 2005, table 6.2 (half of the 2^5 design
# of table 5.11, E = ABCD); response: percent reacted.
A <- rep(c(-1, 1), 8); B <- rep(c(-1, -1, 1, 1), 4); C <- rep(c(-1, -1, -1, -1, 1, 1, 1, 1), 2); D <- rep(c(-1, 1), each = 8); E <- A * B * C * D
yr <- c(56, 53, 63, 65, 53, 55, 67, 61, 69, 45, 78, 93, 49, 60, 95, 82)
m <- lm(yr ~ (A + B + C + D + E)^2)
add("factorial", f("response", yr), f("effects", unname(2 * coef(m)[-1])))
cat("{\n\"origin\": \"", R.version.string, ", testdata/reference.R\",\n", paste(out, collapse = ",\n"), "\n}\n", sep = "")
