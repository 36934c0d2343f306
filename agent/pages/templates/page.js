(function () {
  "use strict";
  var said = document.getElementById("said");
  function say(words) { said.textContent = words; window.setTimeout(function () { said.textContent = ""; }, 4000); }
  document.querySelectorAll("button.copy").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      var code = button.parentNode.querySelector("code");
      var range = document.createRange();
      range.selectNodeContents(code);
      var selection = window.getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      if (document.execCommand("copy")) { say("Copied"); } else { say("Selected: press Ctrl-C"); }
    });
  });
  document.querySelectorAll("input[data-table]").forEach(function (input) {
    var table = document.getElementById(input.getAttribute("data-table"));
    var body = table.tBodies[0];
    var rows = Array.prototype.slice.call(body.rows);
    var data = document.getElementById("more-" + table.id);
    var more = data ? JSON.parse(data.textContent) : [];
    var found = [];
    var caption = table.caption.textContent;
    function clear() { input.value = ""; input.dispatchEvent(new Event("input")); }
    document.addEventListener("click", function (event) {
      var link = event.target.closest("a[href^='#']");
      var target = link && document.getElementById(link.getAttribute("href").slice(1));
      if (target && table.contains(target) && target.closest("tr") && target.closest("tr").hidden) { clear(); }
    });
    function add(texts) {
      var row = body.insertRow();
      Array.prototype.forEach.call(table.tHead.rows[0].cells, function (head, place) {
        var cell = row.insertCell();
        cell.textContent = texts[place] || "";
        cell.className = head.getAttribute("data-look") || "";
      });
      found.push(row);
    }
    input.parentNode.hidden = false;
    input.addEventListener("input", function () {
      var words = input.value.toLowerCase().split(" ").filter(Boolean);
      function fits(text) {
        return words.every(function (word) { return text.toLowerCase().indexOf(word) >= 0; });
      }
      var shown = 0;
      var matching = 0;
      rows.forEach(function (row) {
        row.hidden = !fits(row.textContent + " " + (row.getAttribute("data-also") || ""));
        shown += row.hidden ? 0 : 1;
      });
      found.forEach(function (row) { row.remove(); });
      found = [];
      if (words.length) {
        more.forEach(function (texts) {
          if (!fits(texts.join(" "))) { return; }
          matching += 1;
          if (matching <= 50) { add(texts); }
        });
      }
      var result = (shown + found.length) + " of " + (shown + matching) + " matching rows, of "
        + (rows.length + more.length);
      table.caption.textContent = words.length ? "Search: " + result : caption;
      say(result);
    });
  });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (each) { each.open = true; });
  });
}());
