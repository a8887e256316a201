// Asks for the runs that are being written, and replaces what the live page shows of them. Other pages ask for nothing.
const live = document.querySelector("[data-live]");
if (live) {
  const remark = document.querySelector("[data-live-remark]");
  const stops = () => [...live.querySelectorAll("a, [tabindex]")];
  let shown = "";
  const ask = async () => {
    try {
      const answer = await fetch(live.dataset.live, { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      const { html } = await answer.json();
      if (html !== shown) {
        const focused = stops().indexOf(document.activeElement);
        live.innerHTML = shown = html;
        if (focused >= 0) stops()[focused]?.focus();
      }
      remark.textContent = "";
    } catch {
      remark.textContent = "The server does not answer. The figures below are the last known ones.";
    }
  };
  setInterval(() => document.hidden || ask(), 2000);
}
