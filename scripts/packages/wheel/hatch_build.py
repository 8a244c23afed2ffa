"""Tags the wheel with the systems on which its program runs. hatchling cannot know them: it would tag it for all."""

import os

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformTag(BuildHookInterface):
    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['PLATFORM_TAG']}"
