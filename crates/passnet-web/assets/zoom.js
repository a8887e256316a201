// Adds buttons to each drawing that is larger than its frame, and lets it be dragged. A held Ctrl key zooms with the wheel.
for (const box of document.querySelectorAll(".zoom")) {
  const frame = box.querySelector(".drawing");
  const picture = frame.querySelector("svg");
  const [width, height] = [Number(picture.getAttribute("width")), Number(picture.getAttribute("height"))];
  const fit = () => Math.min(1, (frame.clientWidth - 2) / width);
  if (width <= frame.clientWidth && height <= frame.clientHeight && frame.clientWidth > 0) continue;
  let scale = 1;

  // The point under `x`, `y` of the frame stays where it is.
  const zoom = (next, x = frame.clientWidth / 2, y = frame.clientHeight / 2) => {
    next = Math.min(4, Math.max(Math.min(fit(), 0.1), next));
    const [left, top] = [(frame.scrollLeft + x) / scale, (frame.scrollTop + y) / scale];
    scale = next;
    picture.setAttribute("width", width * scale);
    picture.setAttribute("height", height * scale);
    frame.scrollLeft = left * scale - x;
    frame.scrollTop = top * scale - y;
  };

  const tools = document.createElement("div");
  tools.className = "tools";
  const actions = [
    ["−", "Zoom out", () => zoom(scale / 1.4)],
    ["+", "Zoom in", () => zoom(scale * 1.4)],
    ["Fit", "Fit the width", () => zoom(fit())],
    ["1:1", "1:1, original size", () => zoom(1)],
  ];
  for (const [text, name, act] of actions) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.title = name;
    button.setAttribute("aria-label", name);
    button.addEventListener("click", act);
    tools.append(button);
  }
  box.prepend(tools);
  // The first change is in view, or the beginning: the middle of a large drawing may be empty.
  const first = [".gone rect, .new rect", ".op rect", "rect"].map((kind) => picture.querySelector(kind)).find(Boolean);
  const show = () => {
    const [node, whole] = [first.getBoundingClientRect(), picture.getBoundingClientRect()];
    frame.scrollLeft = node.left - whole.left + (node.width - frame.clientWidth) / 2;
    frame.scrollTop = node.top - whole.top - frame.clientHeight / 4;
  };
  if (first) {
    show();
    // What is folded away has no size yet.
    box.closest("details")?.addEventListener("toggle", show, { once: true });
  }

  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    const edge = frame.getBoundingClientRect();
    zoom(scale * (event.deltaY < 0 ? 1.15 : 1 / 1.15), event.clientX - edge.left, event.clientY - edge.top);
  }, { passive: false });

  // Fingers scroll without this.
  frame.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    frame.setPointerCapture(event.pointerId);
    frame.classList.add("held");
  });
  frame.addEventListener("pointermove", (event) => {
    if (!frame.classList.contains("held")) return;
    frame.scrollLeft -= event.movementX;
    frame.scrollTop -= event.movementY;
  });
  for (const end of ["pointerup", "pointercancel"]) {
    frame.addEventListener(end, () => frame.classList.remove("held"));
  }
}
