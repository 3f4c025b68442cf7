import type { EditorTheme } from "../../../../httpapi/client/typescript/src/editor";

const colors = "bg panel raised line strong-line text quiet accent on-accent danger on-danger ok warn info hover".split(" ");
const fonts = ["sans", "mono"];

type Supports = (property: string, value: string) => boolean;

/** The custom properties of a theme. Values are colours and names of fonts, and nothing that loads or refers to something. */
export function propertiesOf(theme: EditorTheme, supports: Supports = (property, value) => CSS.supports(property, value)): Record<string, string> {
  const made: Record<string, string> = {};
  const put = (part: string, names: string[], prefix: string, given: object | undefined, fits: (value: string) => boolean) => {
    for (const [name, value] of Object.entries(given ?? {})) {
      if (!names.includes(name)) throw new Error(`${part}.${name}: there is no such token, only ${names.join(", ")}`);
      if (typeof value !== "string" || !fits(value)) throw new Error(`${part}.${name}: ${JSON.stringify(value)} cannot be used`);
      made[`${prefix}${name}`] = value;
    }
  };
  const isPlain = (value: string) => value.length <= 200 && !/url|image|var\s*\(|env\s*\(|attr\s*\(|[;{}<>\\@]|\/\*/i.test(value);
  put("colors", colors, "--", theme.colors, (value) => isPlain(value) && supports("color", value));
  put("fonts", fonts, "--font-", theme.fonts, (value) => isPlain(value) && supports("font-family", value));
  return made;
}

let set: string[] = [];

/** Shows the page in a theme. What it leaves out is as in the beginning; a theme that is none changes nothing. */
export function applyTheme(theme: EditorTheme) {
  const properties = propertiesOf(theme);
  const { dataset, style } = document.documentElement;
  if (theme.mode === "light" || theme.mode === "dark") dataset.theme = theme.mode;
  else delete dataset.theme;
  for (const name of set) style.removeProperty(name);
  set = Object.keys(properties);
  for (const [name, value] of Object.entries(properties)) style.setProperty(name, value);
}
