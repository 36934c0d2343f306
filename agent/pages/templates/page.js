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
    var rows = document.getElementById(input.getAttribute("data-table")).tBodies[0].rows;
    input.parentNode.hidden = false;
    input.addEventListener("input", function () {
      var words = input.value.toLowerCase().split(" ");
      var shown = 0;
      Array.prototype.forEach.call(rows, function (row) {
        var text = row.textContent.toLowerCase();
        var fits = words.every(function (word) { return text.indexOf(word) >= 0; });
        row.hidden = !fits;
        shown += fits ? 1 : 0;
      });
      say(shown + " of " + rows.length + " rows");
    });
  });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll("details").forEach(function (each) { each.open = true; });
  });
}());
