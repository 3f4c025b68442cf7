import type { Messages } from "@lingui/core";

const found = import.meta.glob<Messages>("../**/locales/pt.po", { eager: true, import: "messages" });

export default Object.assign({}, ...Object.values(found)) as Messages;
