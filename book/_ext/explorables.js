/* Gives a picture to move its script and its stored state, with no Python behind it. `course.js` calls `mount`. */
window.explorables ??= (() => {
  "use strict";
  const modules = {};

  /* What an anywidget's script expects of its model; changes are heard in the page and go nowhere else. */
  const modelOf = (state) => {
    const hearers = {};
    return {
      get: (trait) => state[trait],
      set: (trait, value) => {
        if (Object.is(state[trait], value)) return;
        state[trait] = value;
        for (const hear of hearers[`change:${trait}`] ?? []) hear();
      },
      on: (event, hear) => (hearers[event] ??= new Set()).add(hear),
      off: (event, hear) => hearers[event]?.delete(hear),
      save_changes: () => {},
      send: () => {
        throw new Error("this needs Python: open the notebook to use it");
      },
    };
  };

  return {
    define: (name, style, module) => {
      modules[name] = module;
      const element = document.createElement("style");
      element.textContent = style;
      document.head.append(element);
    },
    mount: async (box) => {
      const view = document.createElement("div");
      view.className = "explorable-view";
      const model = modelOf(JSON.parse(box.querySelector('script[type="application/json"]').textContent));
      await modules[box.dataset.explorable]().render({ model, el: view });
      box.append(view);
      box.dataset.ready = "true";
    },
  };
})();
