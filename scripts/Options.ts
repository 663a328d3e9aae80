/**
 * The options of a script in this folder. An unknown option, or one without its value, ends the script with status 2 and a
 * line that says what is wrong and which options there are; `--help` lists the options.
 */
import { type ParseArgsConfig, parseArgs } from "node:util"

type Options = NonNullable<ParseArgsConfig["options"]>

type Values<O extends Options> = ReturnType<typeof parseArgs<{ readonly options: O }>>["values"]

const taken = (options: Options) =>
  Object.entries(options)
    .map(([name, { type }]) => (type === "boolean" ? `--${name}` : `--${name} …`))
    .join(", ")

export const optionsOf = <const O extends Options>(script: string, options: O): Values<O> => {
  const takes = `${script}: takes ${taken(options)}; what it does with them stands at its head`
  if (process.argv.includes("--help")) {
    console.log(takes)
    process.exit(0)
  }
  try {
    return parseArgs({ options }).values as Values<O>
  } catch (error) {
    console.error(`${script}: ${(error as Error).message.split(". ")[0]}\n${takes}`)
    process.exit(2)
  }
}
