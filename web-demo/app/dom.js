/*
 * dom.js - elements from code. Text is always set as text, never parsed as markup.
 */

/**
 * Makes an element. `props` are attributes; `class`, `on` (a map of listeners) and booleans
 * are understood; undefined and false are left out.
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === 'on') {
      for (const [type, listener] of Object.entries(value)) element.addEventListener(type, listener);
    } else if (value === true) {
      element.setAttribute(name, '');
    } else if (value !== undefined && value !== false) {
      element.setAttribute(name, String(value));
    }
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** The element of the page with that id. */
export const byId = (id) => document.getElementById(id);
