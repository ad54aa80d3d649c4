internal import EvstoreCLI

await EvstoreCLI.run(Array(CommandLine.arguments.dropFirst()))
