// Paper is light, and unfolds nothing: a dark page is printed light, and folded answers are printed open.
(function (root) {
  var theme;
  var opened = [];
  addEventListener("beforeprint", function () {
    theme = root.dataset.theme;
    root.dataset.theme = "light";
    opened = Array.from(document.querySelectorAll("details:not(.hide, .cl-more, [open])"));
    opened.forEach(function (one) { one.open = true; });
  });
  addEventListener("afterprint", function () {
    if (theme) root.dataset.theme = theme;
    opened.forEach(function (one) { one.open = false; });
  });
})(document.documentElement);
