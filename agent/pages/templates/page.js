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
    var loaded = data ? JSON.parse(data.textContent) : { rows: [], marks: [], marked: [] };
    var more = loaded.rows.map(function (texts, place) {
      var mark = loaded.marks[loaded.marked[place]] || "";
      return { texts: texts, words: (texts.join(" ") + " " + mark).toLowerCase() };
    });
    var found = [];
    var caption = table.caption.textContent;
    var list = document.getElementById("list-" + table.id);
    var listed = Number(table.getAttribute("data-listed"));
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
        return words.every(function (word) { return text.indexOf(word) >= 0; });
      }
      var shown = 0;
      var matching = 0;
      var names = [];
      rows.forEach(function (row) {
        row.hidden = !fits((row.textContent + " " + (row.getAttribute("data-also") || "")).toLowerCase());
        shown += row.hidden ? 0 : 1;
        if (!row.hidden) { names.push(row.cells[listed].textContent); }
      });
      found.forEach(function (row) { row.remove(); });
      found = [];
      if (words.length) {
        more.forEach(function (row) {
          if (!fits(row.words)) { return; }
          matching += 1;
          names.push(row.texts[listed]);
          if (matching <= 50) { add(row.texts); }
        });
      }
      var all = rows.length + more.length;
      var total = shown + matching;
      var result = total ? total + " of " + all + " rows match" : "none of " + all + " rows matches";
      if (shown + found.length < total) { result += ", " + (shown + found.length) + " of them are shown"; }
      table.caption.textContent = words.length ? "Search: " + result : caption;
      if (list) {
        list.hidden = !words.length || !total;
        list.textContent = "Names of all " + total + " matches: " + names.map(function (name) {
          return name.split(" (")[0];
        }).join(" ");
      }
      say(result);
    });
  });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (each) { each.open = true; });
  });
}());
