declare module "textlint-rule-prh" {
  import type { TextlintRuleModule } from "@textlint/kernel";

  const rule: { default: TextlintRuleModule };
  export default rule;
}

declare module "textlint-rule-sentence-length" {
  import type { TextlintRuleModule } from "@textlint/kernel";

  const rule: { default: TextlintRuleModule };
  export default rule;
}
