// Boxes with code: marked, in tabs where it is in several languages, and ready to copy.

const LANGUAGES = { curl: 'curl', typescript: 'TypeScript', python: 'Python' };

const JSON_PARTS = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b/g;
const TEXTS = `'(?:[^'\\\\]|\\\\.)*'|"(?:[^"\\\\]|\\\\.)*"|\`[^\`]*\``;
const SHELL_PARTS = new RegExp(`((?<!\\S)#[^\\n]*)|(${TEXTS})|(?<= )--?[\\w-]+`, 'g');
const PROGRAM_PARTS = new RegExp(`((?<!\\S)(?://|# )[^\\n]*)|(${TEXTS})|\\b(?:import|from|const|await|new|for|of|in|as|with|true|false|null|True|False|None)\\b|(?<![\\w.])\\d[\\d_.]*\\b`, 'g');

/** Text with its parts marked. */
function marked(text, pattern, kindOf) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    const [kind, shown = match[0]] = kindOf(match);
    parts.push(text.slice(end, match.index), el('span', { class: `code-${kind}` }, shown), match[0].slice(shown.length));
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

const markedJson = (text) =>
  marked(text, JSON_PARTS, ([, string, colon, word]) => (string ? [colon ? 'key' : 'string', string] : [word ? 'word' : 'number']));
const markedCode = (text, name) =>
  marked(text, name === 'curl' ? SHELL_PARTS : PROGRAM_PARTS, ([whole, comment, string]) => [comment ? 'comment' : string ? 'string' : /^\d/.test(whole) ? 'number' : 'word']);

/** JSON with line breaks. It is not parsed, so no number is rounded. */
function indented(text) {
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  return text.replace(/"(?:[^"\\]|\\.)*"|[{[]\s*[}\]]|[{}[\],:]|\s+/g, (part) => {
    if (/^\s/.test(part)) return '';
    if (part === ',') return `,${line()}`;
    if (part === ':') return ': ';
    if (part === '{' || part === '[') {
      depth += 1;
      return part + line();
    }
    if (part === '}' || part === ']') {
      depth = Math.max(0, depth - 1);
      return line() + part;
    }
    return part[0] === '"' ? part : part[0] + part.at(-1);
  });
}

const kept = (name) => {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
};
const keep = (name, value) => {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Without a place to keep it the choice lasts as long as the page.
  }
};

let language = Object.hasOwn(LANGUAGES, kept('language') ?? '') ? kept('language') : 'curl';
/** The boxes of the page that is shown, which all change to another language together. */
let followers = [];
/** The boxes of the page, which all change to another example together if they have it. */
let choosers = [];

let tabCount = 0;

/** The tabs of a box; arrow keys go from one to the next. */
function tabList(heading, names, panel, onChoice) {
  const tabs = names.map((name) => {
    tabCount += 1;
    return el('button', { type: 'button', role: 'tab', id: `tab-${tabCount}`, 'aria-controls': panel.id, onclick: () => onChoice(name) }, LANGUAGES[name]);
  });
  const show = (name) =>
    tabs.forEach((tab, i) => {
      const chosen = names[i] === name;
      tab.setAttribute('aria-selected', String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      if (chosen) panel.setAttribute('aria-labelledby', tab.id);
    });
  const onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = (tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length;
    onChoice(names[next]);
    tabs[next].focus();
  };
  return { element: el('div', { role: 'tablist', 'aria-label': `Language: ${heading}`, onkeydown }, tabs), show };
}

/**
 * A box with code. `variants` are [{title, text}] of JSON, or [{title, texts: {curl: …}}] of calls; a list chooses
 * among them if there are many.
 */
function codeBox(heading, variants) {
  tabCount += 1;
  const pre = el('pre', { tabindex: '0', id: `code-${tabCount}`, 'aria-label': heading });
  const names = Object.keys(LANGUAGES).filter((name) => variants[0].texts?.[name] !== undefined);
  let current = variants[0];
  const shownName = () => (names.includes(language) ? language : names[0]);
  const text = () => (current.texts ? current.texts[shownName()] : current.text);
  const isCode = names.length > 0;
  const tabs = names.length > 1 ? tabList(heading, names, pre, chooseLanguage) : null;
  const show = () => {
    tabs?.show(shownName());
    pre.replaceChildren(...(isCode ? markedCode(text(), shownName()) : markedJson(text())).filter((part) => part !== ''));
  };
  if (tabs) {
    pre.setAttribute('role', 'tabpanel');
    pre.removeAttribute('aria-label');
    followers.push(show);
  }
  const options = variants.map((variant) => el('option', {}, variant.title));
  const onchange = (event) => choosers.forEach((choose) => choose(event.target.value));
  const chooser = variants.length > 1 ? el('select', { 'aria-label': `Example: ${heading}`, onchange }, options) : null;
  choosers.push((title) => {
    const at = variants.findIndex((variant) => variant.title === title);
    if (at < 0) return;
    current = variants[at];
    if (chooser) chooser.selectedIndex = at;
    show();
  });
  show();
  return el('section', { class: 'sample', 'aria-label': heading }, el('header', {}, el('strong', {}, heading), tabs?.element, copyButton(text)), chooser ? el('div', { class: 'chooser' }, chooser) : null, pre);
}

function chooseLanguage(name) {
  language = name;
  keep('language', name);
  for (const show of followers) show();
}

function copyButton(text, label = 'Copy') {
  const button = el('button', { type: 'button', class: 'copy', 'aria-live': 'polite', onclick: () => copied(button, text(), label) }, label);
  return button;
}

async function copied(button, text, label) {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'Select it by hand';
  }
  setTimeout(() => (button.textContent = label), 1500);
}
