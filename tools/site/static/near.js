// A figure begins to move when it comes near: a page with many is there at once, and only what is seen is fetched.
// A link to the state of a figure, whichever it is, lets all of them begin.

/** The code of a figure, or a large state, as text, once the figure's place is near. */
window.convlabNear = function (place, file) {
  hold(place);
  return near(place).then(function () { return fetched(file); }).then(function () {
    return window.convlabCode[file];
  });

  /** What is in sight stays there while a figure above it gets its height. Safari alone does not see to it. */
  function hold(place) {
    if (place.held || CSS.supports("overflow-anchor", "auto") || !window.ResizeObserver) return;
    place.held = true;
    var height = place.offsetHeight;
    var edge = parseFloat(getComputedStyle(document.documentElement).scrollPaddingTop) || 0;
    new ResizeObserver(function () {
      var grown = place.offsetHeight - height;
      height += grown;
      var above = place.getBoundingClientRect().bottom - grown <= edge;
      if (grown && above) scrollBy({ top: grown, behavior: "instant" });
    }).observe(place);
  }

  function near(place) {
    return new Promise(function (begin) {
      function leads() {
        return location.hash.includes("=");
      }
      if (!window.IntersectionObserver || leads()) return begin();
      var watching = new IntersectionObserver(function (entries) {
        if (!entries.some(function (entry) { return entry.isIntersecting; })) return;
        watching.disconnect();
        begin();
      }, { rootMargin: "400px 0px" });
      requestAnimationFrame(function () { setTimeout(function () { watching.observe(place); }); }); // words first
      addEventListener("hashchange", function () { if (leads()) begin(); });
    });
  }

  /** A page in a folder may load no module and fetch no file, but a classic script it may. */
  function fetched(file) {
    return new Promise(function (done, failed) {
      if (window.convlabCode && file in window.convlabCode) return done();
      var script = document.createElement("script");
      script.src = file;
      script.onload = done;
      script.onerror = function () { failed(new Error(file + " did not come")); };
      document.head.append(script);
    });
  }
};
