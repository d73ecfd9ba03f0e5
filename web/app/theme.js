// Dark, light, or what the system says. Kept in this browser alone.
import { byId } from './dom.js';

const ORDER = ['auto', 'light', 'dark'];
const KEY = 'glovebox-theme';

function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function apply(theme) {
  if (theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const button = byId('theme');
  button.textContent = `Theme: ${theme}`;
}

export function startTheme() {
  let theme = ORDER.includes(stored()) ? stored() : 'auto';
  apply(theme);
  byId('theme').addEventListener('click', () => {
    theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    apply(theme);
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // A browser that keeps nothing still has the theme for this visit.
    }
  });
}
