// Unpack the library and the data of this page, and begin.

let libraries = null;

async function start() {
  const root = document.querySelector(".fm");
  const message = document.querySelector(".fm-start");
  try {
    if (!("DecompressionStream" in window)) {
      throw new Error("this browser is too old: it cannot unpack the data of this page");
    }
    const text = (name) => document.getElementById(name).textContent.trim();
    const code = await inflated(text("fm-libraries"));
    libraries = new Function(`${code}; return libraries;`)();
    const views = JSON.parse(await inflated(text("fm-views")));
    root.hidden = false;
    message.remove();
    root.explorer = new Explorer(root, views);
  } catch (fault) {
    root.hidden = true;
    message.textContent = `The view to explore cannot be shown: ${fault.message}.`;
    throw fault;
  }
}

start();
