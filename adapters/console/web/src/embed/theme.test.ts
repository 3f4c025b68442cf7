import { expect, test } from "vitest";
import { propertiesOf } from "./theme";

const everything = () => true; // a browser that takes whatever it is asked

test("colours and fonts are tokens", () => {
  expect(
    propertiesOf(
      { mode: "dark", colors: { accent: "#f0a", bg: "light-dark(white, rgb(1 2 3))" }, fonts: { sans: 'Georgia, "Times New Roman", serif' } },
      everything,
    ),
  ).toEqual({
    "--accent": "#f0a",
    "--bg": "light-dark(white, rgb(1 2 3))",
    "--font-sans": 'Georgia, "Times New Roman", serif',
  });
  expect(propertiesOf({}, everything)).toEqual({});
});

test.each([
  { colors: { accent: "url(https://attacker.example)" } },
  { colors: { accent: "red; background: red" } },
  { colors: { accent: "red} body { display: none" } },
  { colors: { accent: "var(--text)" } },
  { colors: { accent: "VAR (--text)" } },
  { colors: { accent: "u\\72l(https://attacker.example)" } },
  { colors: { accent: "/**/red" } },
  { colors: { accent: 5 } },
  { colors: { accent: "x".repeat(201) } },
  { colors: { "font-sans": "red" } },
  { colors: { __proto__x: "red" } },
  { fonts: { sans: "</style><script>" } },
  { fonts: { sans: "@import 'https://attacker.example'" } },
  { fonts: { body: "serif" } },
])("%j is refused", (theme) => expect(() => propertiesOf(theme as never, everything)).toThrow());

test("what the browser takes for no colour is refused", () =>
  expect(() => propertiesOf({ colors: { accent: "reddish" } }, () => false)).toThrow("colors.accent"));
