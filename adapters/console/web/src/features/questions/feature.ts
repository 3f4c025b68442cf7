import { msg } from "@lingui/core/macro";
import { MessageCircleQuestion } from "lucide-react";
import type { Feature } from "@/ui";

export default {
  of: "tenant",
  nav: { group: "watch", order: 120, path: "questions", label: msg`Questions`, icon: MessageCircleQuestion, key: "q" },
  pages: [{ path: "questions", load: () => import("./QuestionsPage") }],
} satisfies Feature;
