// Where no one has chosen a theme yet, say so: the theme's own script takes an empty mode for an error.
document.documentElement.dataset.mode ||= "auto";

// A proof of class "dropdown" has no title to click on: fold it under one of its own.
document.addEventListener("DOMContentLoaded", () => {
  for (const proof of document.querySelectorAll(".proof.admonition.dropdown")) {
    const fold = document.createElement("details");
    const title = document.createElement("summary");
    fold.className = "proof-fold";
    title.textContent = "Show the proof";
    proof.before(fold);
    fold.append(title, proof);
  }
});
