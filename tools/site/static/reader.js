// What this reader has read to the end, kept in this browser and told to nobody: marks in the sidebar and on
// the front page, and a button that forgets. Where storage is withheld the marks last as long as the page.
(function () {
  var KEY = "convlab-read";
  var here = nameOf(location.pathname);

  function nameOf(path) {
    return path.split("/").pop().replace(/\.html$/, "");
  }

  function read() {
    try {
      var names = JSON.parse(localStorage.getItem(KEY) || "[]");
      return Array.isArray(names) ? names.filter(function (name) { return typeof name === "string"; }) : [];
    } catch (error) {
      return [];
    }
  }

  function keep(names) {
    try {
      if (names.length) localStorage.setItem(KEY, JSON.stringify(names));
      else localStorage.removeItem(KEY);
    } catch (error) { /* full: the marks are a help, not a need */ }
    show();
  }

  function links() {
    return Array.from(document.querySelectorAll(".bd-docs-nav a.internal, .course a"));
  }

  function show() {
    var names = read();
    links().forEach(function (link) {
      var done = names.includes(nameOf(link.pathname));
      var mark = link.querySelector(".read-mark");
      if (done && !mark) {
        mark = document.createElement("span");
        mark.className = "read-mark";
        mark.setAttribute("role", "img");
        mark.setAttribute("aria-label", " (read)");
        mark.textContent = " ✓";
        link.append(mark);
      } else if (!done && mark) mark.remove();
    });
    tell(names);
  }

  /** On the front page: how far one is, where to go on, and the button that forgets. */
  function tell(names) {
    var place = document.querySelector(".reader");
    if (!place) return;
    var course = Array.from(document.querySelectorAll(".course a"));
    var done = course.filter(function (link) { return names.includes(nameOf(link.pathname)); });
    place.textContent = "";
    if (!done.length) return;
    var next = course.find(function (link) { return !done.includes(link); });
    var words = document.createElement("p");
    words.append("You have read " + done.length + " of " + course.length + " notebooks to the end. ");
    if (next) {
      var on = document.createElement("a");
      on.href = next.href;
      on.textContent = "Go on with “" + next.textContent.trim() + "”";
      words.append(on, ". ");
    }
    var forget = document.createElement("button");
    forget.type = "button";
    forget.textContent = "Forget this";
    forget.title = "It is kept in this browser alone";
    forget.addEventListener("click", function () { keep([]); place.setAttribute("tabindex", "-1"); place.focus(); });
    words.append(forget);
    place.append(words);
  }

  function watchTheEnd() {
    var end = document.querySelector(".prev-next-footer");
    var isNotebook = links().some(function (link) { return nameOf(link.pathname) === here; });
    if (!end || !isNotebook || !window.IntersectionObserver) return;
    var watching = new IntersectionObserver(function (entries) {
      if (!entries.some(function (entry) { return entry.isIntersecting; }) || !window.scrollY) return;
      watching.disconnect();
      var names = read();
      if (!names.includes(here)) keep(names.concat(here));
    });
    watching.observe(end);
  }

  show();
  watchTheEnd();
  addEventListener("storage", function (event) { if (event.key === KEY || event.key === null) show(); });
})();
